//! What of the CPU one device has.

/// One device's part of the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Number of the device, from 0.
    number: usize,
    /// Its threads, at least 1.
    pub threads: usize,
}

impl Share {
    /// The shares of `devices` devices: the threads as evenly as they divide, the first ones having one more. Where there are
    /// fewer threads than devices each still has one, since a device without a thread could do nothing.
    pub fn split(threads: usize, devices: usize) -> Vec<Share> {
        (0..devices)
            .map(|number| Share {
                number,
                threads: (threads / devices + usize::from(number < threads % devices)).max(1),
            })
            .collect()
    }

    /// The device's id, made of the CPU's. The first has the CPU's own, so that what was kept for the only device of one start is
    /// found by the first of another; ids of one provider differ, since devices are joined by them.
    pub fn id(&self, cpu: String) -> String {
        match self.number {
            0 => cpu,
            number => format!("{cpu}/{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(threads: usize, devices: usize) -> Vec<usize> {
        let shares = Share::split(threads, devices);
        shares.iter().map(|share| share.threads).collect()
    }

    #[test]
    fn threads_are_split_evenly_and_none_is_left_over_or_without() {
        assert_eq!(threads(8, 1), [8]);
        assert_eq!(threads(8, 2), [4, 4]);
        assert_eq!(threads(8, 3), [3, 3, 2]);
        assert_eq!(threads(5, 4), [2, 1, 1, 1]);
        assert_eq!(threads(2, 4), [1, 1, 1, 1]);
        for all in 1..40 {
            for devices in 1..=all {
                let each = threads(all, devices);
                assert_eq!(each.iter().sum::<usize>(), all);
                assert!(each[0] - each[devices - 1] <= 1);
            }
        }
    }

    #[test]
    fn ids_differ_and_the_first_is_that_of_the_cpu() {
        let ids: Vec<String> = Share::split(4, 3)
            .iter()
            .map(|share| share.id("cpuid:x".into()))
            .collect();
        assert_eq!(ids, ["cpuid:x", "cpuid:x/1", "cpuid:x/2"]);
    }
}
