//! The date that a template may ask for.

/// A day of the Gregorian calendar, as a template sees today. It is given and not read from a clock, so that a prompt can be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    year: u16,
    month: u8,
    day: u8,
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

impl Date {
    /// A day, months and days from 1; `None` where the calendar has no such day. Years are 1 to 9999.
    pub fn new(year: u16, month: u8, day: u8) -> Option<Date> {
        let date = Date { year, month, day };
        let there = (1..=9999).contains(&year)
            && (1..=12).contains(&month)
            && (1..=date.days_of_month()).contains(&day);
        there.then_some(date)
    }

    fn days_of_month(self) -> u8 {
        let leap = self.year.is_multiple_of(4)
            && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400));
        match self.month {
            4 | 6 | 9 | 11 => 30,
            2 if leap => 29,
            2 => 28,
            _ => 31,
        }
    }

    /// The day of the year, from 1.
    fn day_of_year(self) -> u16 {
        let before = (1..self.month).map(|month| Date { month, ..self }.days_of_month());
        before.map(u16::from).sum::<u16>() + u16::from(self.day)
    }

    /// Days after Sunday.
    fn weekday(self) -> usize {
        let years = usize::from(self.year) - 1;
        // 1 January of the year 1 is a Monday.
        (years + years / 4 - years / 100 + years / 400 + usize::from(self.day_of_year())) % 7
    }

    /// The date in a format of C's `strftime`. Formats of the time of day are refused, since there is none.
    pub(super) fn format(self, format: &str) -> Result<String, String> {
        let month = MONTHS[usize::from(self.month) - 1];
        let day = DAYS[self.weekday()];
        let mut out = String::new();
        let mut letters = format.chars();
        while let Some(letter) = letters.next() {
            if letter != '%' {
                out.push(letter);
                continue;
            }
            let mut which = letters.next();
            // A dash leaves out leading zeros.
            let bare = which == Some('-');
            if bare {
                which = letters.next();
            }
            let number = |value: u16, width: usize| match bare {
                true => value.to_string(),
                false => format!("{value:0width$}"),
            };
            match which {
                Some('Y') => out += &number(self.year, 4),
                Some('y') => out += &number(self.year % 100, 2),
                Some('m') => out += &number(self.month.into(), 2),
                Some('d') => out += &number(self.day.into(), 2),
                Some('j') => out += &number(self.day_of_year(), 3),
                Some('e') => out += &format!("{:2}", self.day),
                Some('B') => out += month,
                Some('b' | 'h') => out += &month[..3],
                Some('A') => out += day,
                Some('a') => out += &day[..3],
                Some('F') => out += &format!("{:04}-{:02}-{:02}", self.year, self.month, self.day),
                Some('%') => out.push('%'),
                other => {
                    let other = other.map_or_else(String::new, |c| c.escape_debug().to_string());
                    return Err(format!(
                        "strftime_now: `%{other}` is not known; known: %Y %y %m %d %j %e %B %b %h %A %a %F %%"
                    ));
                }
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(year: u16, month: u8, day: u8, format: &str) -> String {
        Date::new(year, month, day).unwrap().format(format).unwrap()
    }

    #[test]
    fn formats_are_those_of_strftime() {
        assert_eq!(shown(2024, 7, 26, "%d %b %Y"), "26 Jul 2024");
        assert_eq!(
            shown(2024, 2, 29, "%A, %B %-d, %y %j"),
            "Thursday, February 29, 24 060"
        );
        assert_eq!(shown(1999, 12, 31, "%F %a %e%%"), "1999-12-31 Fri 31%");
        assert_eq!(shown(1, 1, 1, "%a %Y"), "Mon 0001");
        assert_eq!(shown(2000, 3, 1, "%a %e"), "Wed  1");
    }

    #[test]
    fn days_that_are_none_and_times_are_refused() {
        for (year, month, day) in [
            (2023, 2, 29),
            (1900, 2, 29),
            (2024, 13, 1),
            (2024, 0, 1),
            (2024, 4, 31),
            (0, 1, 1),
            (2024, 1, 0),
        ] {
            assert_eq!(Date::new(year, month, day), None, "{year}-{month}-{day}");
        }
        let date = Date::new(2024, 1, 1).unwrap();
        assert!(date.format("%H:%M").unwrap_err().contains("`%H`"));
        assert!(date.format("100%").unwrap_err().contains("`%`"));
    }
}
