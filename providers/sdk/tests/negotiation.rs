//! Negotiation chooses a version or refuses with both named, and nothing crashes it.

#[path = "support/fake.rs"]
mod fake;
mod support;

use fake::Fake;
use overt_sdk::abi::*;
use support::*;

fn ask(min: u32, max: u32) -> (OvertStatus, OvertQueryResponse, String) {
    let mut words = Words::new();
    let request = request(&words, min, max);
    let mut response = response();
    // SAFETY: both structs are whole.
    let status = unsafe { overt_sdk::query::<Fake>(&request, &mut response, &BUILD) };
    (status, response, words.take())
}

#[test]
fn a_range_that_holds_the_version_is_accepted_and_stamped() {
    for (min, max) in [(1, 1), (0, 1), (1, u32::MAX), (0, u32::MAX)] {
        let (status, response, words) = ask(min, max);
        assert_eq!((status, words.as_str()), (OVERT_OK, ""));
        assert_eq!(response.abi_version, OVERT_ABI_VERSION);
        assert!(!response.provider.is_null() && !response.build.is_null());
    }
}

#[test]
fn older_newer_zero_and_empty_ranges_are_refused_with_both_versions_named() {
    for (min, max, named) in [
        (2, 3, "0.2 to 0.3"),
        (0x10000, 0x10000, "1.0"),
        (0, 0, "0.0"),
        (3, 1, "empty range"),
    ] {
        let (status, response, words) = ask(min, max);
        assert_eq!(status, OVERT_E_ABI);
        assert!(response.provider.is_null());
        assert_eq!(response.abi_version, OVERT_ABI_VERSION);
        assert!(
            words.contains("`fake` speaks ABI 0.1") && words.contains(named),
            "{words}"
        );
    }
}

#[test]
fn sizes_below_the_first_version_are_refused_and_larger_ones_read() {
    let words = Words::new();
    for (request_size, response_size, wanted) in [
        (0, 24, OVERT_E_ABI),
        (8, 24, OVERT_E_ABI),
        (40, 0, OVERT_E_ABI),
        (40, 23, OVERT_E_ABI),
        (48, 32, OVERT_OK),
        (0xdead_beef, 0xdead_beef, OVERT_OK),
    ] {
        let mut request = request(&words, 1, 1);
        request.size = request_size;
        let mut response = response();
        response.size = response_size;
        // SAFETY: this version reads no more than it knows, whatever a size above that says.
        let status = unsafe { overt_sdk::query::<Fake>(&request, &mut response, &BUILD) };
        assert_eq!(status, wanted, "{request_size} {response_size}");
        assert_eq!(response.size, response_size, "the size is the host's");
    }
}

#[test]
fn null_pointers_are_refused() {
    let words = Words::new();
    let request = request(&words, 1, 1);
    let mut response = response();
    // SAFETY: null is what is tested.
    unsafe {
        let null = std::ptr::null;
        assert_eq!(
            overt_sdk::query::<Fake>(null(), &mut response, &BUILD),
            OVERT_E_INVALID
        );
        assert_eq!(
            overt_sdk::query::<Fake>(&request, std::ptr::null_mut(), &BUILD),
            OVERT_E_INVALID
        );
    }
}

#[test]
fn every_query_gives_the_same_table() {
    let (first, second) = (ask(1, 1).1, ask(0, 9).1);
    assert_eq!(first.provider, second.provider);
    assert_eq!(first.build, second.build);
}

#[test]
fn the_table_holds_this_provider_s_declarations_sorted() {
    let provider = table::<Fake>();
    // SAFETY: lists of a static table.
    let (kernels, knobs, images, ops) = unsafe {
        (
            std::slice::from_raw_parts(provider.kernels, provider.kernel_count as usize),
            std::slice::from_raw_parts(provider.knobs, provider.knob_count as usize),
            std::slice::from_raw_parts(provider.images, provider.image_count as usize),
            std::slice::from_raw_parts(provider.ops, provider.op_count as usize),
        )
    };
    let ids: Vec<String> = kernels.iter().map(|k| str_of(k.id)).collect();
    assert_eq!(
        ids,
        ["fails", "liar", "plain", "prepared", "refuses", "sleeps"]
            .map(|n| format!("fake/shift/{n}"))
    );
    let knobs: Vec<(String, u32)> = knobs.iter().map(|k| (str_of(k.id), k.flags)).collect();
    assert_eq!(
        knobs,
        [
            ("fake.devices".into(), OVERT_KNOB_AT_CREATE),
            ("fake.limit".into(), 0)
        ]
    );
    assert_eq!(images.len(), 1);
    assert_eq!(
        images[0].symbol_count, 3,
        "entries of the kernels that name it"
    );
    assert_eq!(str_of(ops[0].name), "fake:shift.1");
    assert_eq!(
        ops[0].digest,
        overt_kernels::schema::digest(fake::SHIFT.schema)
    );
    assert!(ops[0].oracle.is_some());

    let liar = &kernels[1];
    // SAFETY: lists of a static table.
    let clauses = unsafe { std::slice::from_raw_parts(liar.clauses, liar.clause_count as usize) };
    assert_eq!(clauses.len(), 4);
    assert_eq!(str_of(clauses[0].source), "one vector");
    // SAFETY: each clause has the values it counts, of the kind that is asserted.
    unsafe {
        assert_eq!((*clauses[0].values).data.i, 8);
        assert_eq!((clauses[1].cmp, clauses[1].value_count), (OVERT_CMP_IN, 2));
        assert_eq!((*clauses[2].values).kind, OVERT_VALUE_FACT);
        assert_eq!(str_of((*clauses[2].values).data.s), "knob.fake.limit");
        let pattern = &*(*clauses[3].values).data.pattern;
        assert_eq!(str_of((*pattern.arch).family), "fake");
        assert_eq!((*(*pattern.arch).features).state, OVERT_FEATURE_ON);
    }
    assert!(kernels[3].guard.is_some() && kernels[3].guard_read_count == 1);
}
