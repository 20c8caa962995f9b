//! Every part runs once, on no more threads than there are, whoever else uses the pool, and a panic goes to its caller.

use super::Pool;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

const WORTH: u64 = 1 << 20;

#[test]
fn each_item_is_covered_once() {
    for threads in [1, 2, 3, 8] {
        let pool = Pool::new(threads).unwrap();
        for count in [0, 1, 2, 7, 8, 9, 31, 32, 33, 1000] {
            let seen: Vec<AtomicU32> = (0..count).map(|_| AtomicU32::new(0)).collect();
            pool.ranges(count, WORTH, |range| {
                assert!(!range.is_empty());
                for i in range {
                    seen[i].fetch_add(1, SeqCst);
                }
            });
            assert!(
                seen.iter().all(|n| n.load(SeqCst) == 1),
                "{threads} threads, {count} items: {seen:?}"
            );
        }
    }
}

#[test]
fn helpers_take_part_and_are_no_more_than_stated() {
    let pool = Pool::new(3).unwrap();
    let who = Mutex::new(HashSet::new());
    let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    for _ in 0..20 {
        pool.ranges(12, WORTH, |_| {
            most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
            who.lock().unwrap().insert(thread::current().id());
            thread::sleep(Duration::from_millis(1));
            now.fetch_sub(1, SeqCst);
        });
    }
    assert_eq!(who.lock().unwrap().len(), 3);
    assert!(who.lock().unwrap().contains(&thread::current().id()));
    assert_eq!(most.load(SeqCst), 3);
}

#[test]
fn callers_take_turns() {
    let pool = Pool::new(4).unwrap();
    let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for caller in 0..6 {
            let (pool, now, most) = (&pool, &now, &most);
            scope.spawn(move || {
                for round in 0..200 {
                    let sum = AtomicUsize::new(0);
                    pool.ranges(64, WORTH, |range| {
                        most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                        sum.fetch_add(range.sum::<usize>(), SeqCst);
                        now.fetch_sub(1, SeqCst);
                    });
                    assert_eq!(sum.load(SeqCst), 63 * 32, "caller {caller}, round {round}");
                    if round % 50 == caller {
                        // Long enough for the helpers to fall asleep.
                        thread::sleep(Duration::from_millis(2));
                    }
                }
            });
        }
    });
    assert!(most.load(SeqCst) <= 4, "{most:?} threads in four's work");
}

#[test]
fn a_panic_goes_to_the_caller_and_the_pool_goes_on() {
    let pool = Pool::new(3).unwrap();
    for bad in [0, 5, 11] {
        let thrown = catch_unwind(AssertUnwindSafe(|| {
            pool.ranges(12, WORTH, |range| {
                assert!(!range.contains(&bad), "part {bad}");
            });
        }))
        .unwrap_err();
        let words = thrown.downcast_ref::<String>().unwrap();
        assert!(words.contains(&format!("part {bad}")), "{words}");
        let done = AtomicUsize::new(0);
        pool.ranges(12, WORTH, |range| {
            done.fetch_add(range.len(), SeqCst);
        });
        assert_eq!(done.load(SeqCst), 12);
    }
}

#[test]
fn little_work_stays_on_the_calling_thread() {
    let pool = Pool::new(4).unwrap();
    pool.ranges(100, 1, |range| {
        assert_eq!(range, 0..100);
    });
}
