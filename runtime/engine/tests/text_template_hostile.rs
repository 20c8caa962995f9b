//! Templates that would take all time, all memory or the whole stack end with an error, soon and on a small stack.

use overt_engine::text::{ChatTemplate, Message, Rendering, TemplateError};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::sync::mpsc::channel;
use std::time::Duration;

/// What a thread of a host has at least, save where it asks for less.
const STACK: usize = 2 << 20;

/// A hundred times what any of these takes.
const LIMIT: Duration = Duration::from_secs(100);

/// Renders on a thread of its own, and fails where that takes too long or the thread dies.
fn rendered(source: &str) -> Result<String, TemplateError> {
    let (send, receive) = channel();
    let text = source.to_owned();
    let work = move || {
        let messages = [
            Message::new("user", "hello"),
            Message::new("assistant", "hi"),
        ];
        let made = ChatTemplate::new(text, "<s>", "</s>")
            .and_then(|template| template.render(&messages, &Rendering::default()));
        let _ = send.send(made);
    };
    std::thread::Builder::new()
        .stack_size(STACK)
        .spawn(work)
        .unwrap();
    receive
        .recv_timeout(LIMIT)
        .unwrap_or_else(|error| panic!("{error}: {}", &source[..source.len().min(400)]))
}

fn refused(source: &str) {
    let made = rendered(source);
    let shown = &source[..source.len().min(400)];
    match made {
        Err(
            TemplateError::Endless { .. }
            | TemplateError::Failed { .. }
            | TemplateError::Syntax { .. }
            | TemplateError::TooLong { .. },
        ) => {}
        other => panic!("{shown}: {:?}", other.map(|text| text.len())),
    }
}

/// `body` so many times over, between a namespace with lists `x` and `y` and `end`.
fn looped(times: usize, body: &str, end: &str) -> String {
    format!(
        "{{% set ns = namespace(x=['x'], y=['x']) %}}{{% for i in range({times}) %}}{body}{{% endfor %}}{end}"
    )
}

#[test]
fn what_makes_too_much_is_refused() {
    for source in [
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
        "{% set ns = namespace(x='x') %}{% for i in range(64) %}{% set ns.x = ns.x + ns.x %}{% endfor %}",
        "{% set ns = namespace(x='x') %}{% for i in range(64) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}",
        "{% set ns = namespace(x='x') %}{% for i in range(64) %}{% set ns.x = ns.x.replace('x', 'xx') %}{% endfor %}",
        "{{ 'x' * 10000000000 }}",
        "{{ ('x' * 90000000) | length }}{{ ('x' * 90000000) | length }}",
        "{{ [1] * 1000000000 }}",
        "{{ ''.join(['x' * 1000000] * 1000000) }}",
        "{% set s = 'x' * 1000000 %}{{ s.join(range(100000)) }}",
        "{% set s = 'x' * 1000000 %}{{ s.replace('', s) }}",
        "{% set s = 'x' * 1000000 %}{{ s | replace('x', s) }}",
        "{% set s = 'x' * 10000000 %}{{ s.split('x') | length }}",
        "{% set s = 'x\n' * 10000000 %}{{ s.splitlines() | length }}",
        "{% set s = 'a' * 1000000 %}{% set p = 'b' * 1000000 ~ 'a' %}{{ s.strip(p) }}{{ s | trim(p) }}",
        "{{ 'a\nb' | indent(10000000000) }}",
        "{{ [1] | batch(10000000000, 1) | list }}",
        "{{ [1] | slice(10000000000) | list }}",
        "{{ '%1000000000d' | format(1) }}",
        "{{ '{:>1000000000}'.format(1) }}",
        "{{ range(0, 10000000000) | list | length }}",
        "{% macro f(x) %}{{ f(x) }}{{ f(x) }}{% endmacro %}{{ f(1) }}",
        "{% for a in [1] recursive %}{{ loop([1]) }}{% endfor %}",
        "{% set s = 'é' * 10000000 %}{% for i in range(100000) %}{{ s[9000000:9000001] }}{% endfor %}",
        "{% set s = 'é' * 10000000 %}{% for i in range(100000) %}{{ s[-1] }}{{ s[i] }}{% endfor %}",
        "{% set s = 'é' * 10000000 %}{% for i in range(100000) %}{% for c in s %}{% break %}{% endfor %}{% endfor %}",
        "{% set s = 'Σ' * 1000000 %}{% for i in range(90000) %}{% set t = s.title() %}{% endfor %}",
        "{% set s = 'a' ~ 'Σ.' * 100000 %}{% for i in range(90000) %}{% set t = s | title %}{% endfor %}",
        "{% set s = 'a' ~ 'Σ' * 1000000 %}{% for i in range(90000) %}{% set t = s | lower %}{% endfor %}",
        // What the engine by itself makes or goes through without a charge.
        "{% for i in range(90000) %}{% set t = '' | indent(10000000) %}{% endfor %}",
        "{% set s = 'x' * 10000000 %}{% set l = ['' | string] * 1000 %}{{ l | map('replace', '', s) | list }}",
        "{% set s = 'x' * 1000000 %}{% set p = '{0}' * 100000 %}{{ p.format(s) | length }}",
        "{% set p = '{:999}' * 1000000 %}{{ p.format(1) }}",
        "{% set s = 'x' * 1000000 %}{% set p = '%(a)s' * 100000 %}{{ (p | format({'a': s})) | length }}",
        "{{ [['x']] * 100000 | sum(start=[]) | length }}{{ ([['x']] * 100000) | sum(start=[]) | length }}",
        "{{ (['abcdefgh' * 8] * 100000) | sum(start='') | length }}",
        "{% set l = ['x' * 10000000] + ['y'] * 100000 %}{{ l | min }}",
        "{% set l = ['x' * 10000000] + ['y'] * 100000 %}{{ l | sort | length }}",
        "{% set a = 'a,' * 100000 %}{{ ([{'a': 1}] * 100000) | sort(attribute=a) | length }}",
        "{% set l = range(100000) | list %}{{ range(100000) | select('in', l) | list | length }}",
        "{% set l = range(10000) | list %}{{ ('x' * 1000000) | select('in', l) | list | length }}",
        "{% set t = 'b' * 100000 %}{{ (['a'] * 100000) | map('trim', t) | list | length }}",
        "{% set s = 'x ' * 10000000 %}{{ s.split() | length }}{{ s | list | length }}",
        "{% set k = 'k' * 1000000 %}{% for i in range(100000) %}{% set m = {k: 1, k: 2, k: 3, k: 4} %}{% endfor %}",
        "{% set k = 'k' * 1000000 %}{% set m = {k: 1} %}{% for i in range(100000) %}{% set n = dict(m) %}{% endfor %}",
        "{% set s = 'é' * 10000000 %}{% for a in [1] recursive %}{% set l = loop %}{% for i in range(100000) %}{{ l(s) }}{% endfor %}{% endfor %}",
        "{{ [1] * 1000000 * 1000000 * 1000000 == [2] }}",
        "{% set s = 'x' * 10000000 %}{% set t = 'x' * 10000000 %}{% for i in range(100000) %}{{ s == t }}{% endfor %}",
    ] {
        refused(source);
    }
}

/// Ways for `ns.x` and `ns.y` to hold twice what they hold.
const DOUBLINGS: [&str; 8] = [
    "{% set ns.x = ns.x + ns.x %}{% set ns.y = ns.y + ns.y %}",
    "{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}",
    "{% set ns.x = {1: ns.x, 2: ns.x} %}{% set ns.y = {1: ns.y, 2: ns.y} %}",
    "{% set ns.x = dict(a=ns.x, b=ns.x) %}{% set ns.y = dict(a=ns.y, b=ns.y) %}",
    "{% set ns.x = ns.x | chain(ns.x) %}{% set ns.y = ns.y | chain(ns.y) %}",
    "{% set ns.x = ns.x | zip(ns.x) %}{% set ns.y = ns.y | zip(ns.y) %}",
    "{% set ns.x = (ns.x, ns.x) %}{% set ns.y = (ns.y, ns.y) %}",
    "{% set ns.x = ns.x * 2 %}{% set ns.y = ns.y * 2 %}",
];

#[test]
fn lists_that_double_are_refused() {
    for body in DOUBLINGS {
        refused(&looped(64, body, ""));
        refused(&looped(64, body, "{{ ns.x == ns.y }}{{ ns.x }}"));
    }
}

#[test]
fn whatever_looks_at_all_of_a_list_is_charged_for_it() {
    let looks = [
        "{{ ns.x == ns.y }}",
        "{{ ns.x < ns.y }}",
        "{{ ns.x }}",
        "{{ ns.x ~ 'a' }}",
        "{{ ns.x | string }}",
        "{% set a = {ns.x: 1} %}",
        "{{ {'a': 1}[ns.x] }}",
        "{{ {'a': 1}.get(ns.x) }}",
        "{{ ns.y in [ns.x] }}",
        "{{ ns.y in 'abc' }}",
        "{% set a = [ns.y, ns.x] | unique | list %}",
        "{% set a = [ns.y, ns.x] | sort %}",
        "{{ ns.x | tojson }}",
        "{{ ns.x | pprint }}",
        "{{ ''.join([ns.x]) }}",
        "{{ [ns.x] | join }}",
        "{{ ns.x | upper }}",
        "{{ [ns.x].count(ns.y) }}",
        "{{ '%s' | format(ns.x) }}",
        "{{ '{}'.format(ns.x) }}",
        "{{ ns.x is eq ns.y }}",
        "{% set a = [ns.x, ns.y] | max %}",
        "{% set a = [ns.x, ns.x] | select('eq', ns.y) | list %}",
        "{% set a = [ns.x][::-1] %}",
        "{% for i in [ns.x, ns.y] %}{{ loop.changed(i) }}{% endfor %}",
        "{{ ns }}",
        "{% set a = dict(ns) %}",
        "{% set a = namespace(ns) == ns %}",
        "{{ 0 < ns.x < ns.y }}",
    ];
    for look in looks {
        // By themselves the lists are within what a template may have, and may be looked at.
        let made = looped(11, DOUBLINGS[1], look);
        let once = rendered(&made);
        assert!(
            matches!(once, Ok(_) | Err(TemplateError::Failed { .. })),
            "{look}: {once:?}"
        );
        let often = format!("{{% for i in range(90000) %}}{look}{{% endfor %}}");
        refused(&looped(11, DOUBLINGS[1], &often));
    }
}

#[test]
fn what_nests_or_holds_itself_is_refused() {
    for body in [
        "{% set ns.x = [ns.x] %}",
        "{% set ns.x = {'a': ns.x} %}",
        "{% set ns.x = (ns.x,) %}",
        "{% set ns.x = dict(a=ns.x) %}",
        "{% set ns.x = namespace(a=ns.x) %}",
        "{% set ns.x = ns.x | zip([1]) %}",
        "{% set ns.x = [ns.x][0:] %}",
        "{% set ns.x = [ns.x] | reverse %}",
        "{% set ns.x = [ns.x] | map('list') | list %}",
    ] {
        for end in [
            "",
            "{{ ns.x }}",
            "{{ ns.x | tojson }}",
            "{{ ns.x == ns.x }}",
        ] {
            refused(&looped(90_000, body, end));
        }
    }
    for source in [
        "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}",
        "{% set ns = namespace() %}{% set ns.a = [ns] %}{{ ns.a | tojson }}",
        "{% set ns = namespace() %}{% set ns.a = {'b': ns} %}{{ ns == ns }}",
        "{% set ns = namespace() %}{% macro f() %}{% endmacro %}{% set ns.a = f %}",
        "{% set ns = namespace(x=1) %}{% for i in [1, 2] %}{% set ns.x = [loop] %}{% endfor %}",
        "{% set ns = namespace() %}{{ [ns] }}",
        "{% for i in [1, 2] %}{{ loop.changed(loop) }}{% endfor %}",
        "{% set ns = namespace() %}{% for i in [1, 2] %}{{ loop.changed(a=ns) }}{% endfor %}",
        // A division by zero of the engine's.
        "{% for i in [1, 2] %}{{ loop.cycle() }}{% endfor %}",
        "{% macro f(x) %}{% endmacro %}{{ f(*[1]) }}",
    ] {
        refused(source);
    }
}

#[test]
fn sources_that_nest_or_go_on_are_refused() {
    for (before, unit, after) in [
        ("{{ ", "-", "1 }}"),
        ("{{ ", "not ", "1 }}"),
        ("{{ a", ".b", " }}"),
        ("{{ 1", "+1", " }}"),
        ("{{ a", "**a", " }}"),
        ("{{ a", "()", " }}"),
        ("{{ a", "[1]", " }}"),
        ("{{ a", "[1:]", " }}"),
        ("{{ a", " ~ a", " }}"),
        ("{{ a", " and a", " }}"),
        ("{{ a", " if a else a", " }}"),
        ("{{ a", "|int", " }}"),
        ("{{ a", " is not defined", " }}"),
        ("{% do a", "()", " %}"),
        ("{{ ", "(", " }}"),
        ("{{ ", "[", " }}"),
        ("{{ ", "{1:", " }}"),
        ("{% set ", "(", " %}"),
        ("{% for ", "(", " %}"),
        ("", "{% if 1 %}", ""),
        ("", "{% for a in [1] %}", ""),
        ("", "{% macro a() %}", ""),
        ("", "{% call a() %}", ""),
        ("", "{% raw %}", ""),
        ("", "{#", ""),
        ("", "{{", ""),
        ("", "{{-", ""),
        ("", "{% generation %}", ""),
    ] {
        for bytes in [60_000, 200_000] {
            refused(&format!(
                "{before}{}{after}",
                unit.repeat(bytes / unit.len())
            ));
        }
        // As long as may be: whatever comes of it, it comes.
        let _ = rendered(&format!("{before}{}{after}", unit.repeat(250)));
    }
    refused(&("{% if 0 %}".to_owned() + &"{% elif 0 %}".repeat(5_000) + "{% endif %}"));
    let names: String = (0..200)
        .map(|n| format!("{{% set ns.a{n} = 1 %}}"))
        .collect();
    refused(&("{% set ns = namespace() %}".to_owned() + &names));
    let pairs =
        |letter: char| -> String { (0..100).map(|n| format!("'{letter}{n}': 1, ")).collect() };
    let source = |made: &str| {
        let (a, b) = (pairs('a'), pairs('b'));
        format!("{{% set a = {{{a}}} %}}{{% set b = {{{b}}} %}}{{{{ ({made}) | length }}}}")
    };
    assert_eq!(rendered(&source("dict(a, **b)")).unwrap(), "200");
    refused(&source("namespace(dict(a, **b))"));
    // All that nests, one within the other, as deep as it may.
    for ifs in [0, 50, 100, 140] {
        let within = "(".repeat(48 - ifs / 3) + "a" + &".b".repeat(200) + &")".repeat(48 - ifs / 3);
        let source = "{% if 0 %}".to_owned()
            + &"{% elif 0 %}".repeat(250)
            + &"{% if 0 %}".repeat(ifs)
            + "{{ "
            + &within
            + " }}"
            + &"{% endif %}".repeat(ifs + 1);
        assert_eq!(rendered(&source).unwrap(), "");
    }
    let _ = rendered(&"\u{a0}\n".repeat(20_000));
    // A line of as many columns as are read.
    let line = "x".repeat(65_534 - "{{ a".len()) + "{{ a";
    assert_eq!(line.len(), 65_534);
    refused(&line);
}

const LEAVES: [&str; 18] = [
    "a", "b", "ns.p", "ns.q", "ns", "1", "-2", "7", "'x'", "'é,y'", "''", "none", "true", "[]",
    "{}", "messages", "loop", "f",
];

/// `@` is an expression.
const SHAPES: [&str; 56] = [
    "[@, @]",
    "[@]",
    "{'k': @, @: 1}",
    "(@, @)",
    "(@,)",
    "@ + @",
    "@ + @",
    "@ * @",
    "@ * 50",
    "@ - @",
    "@ // @",
    "@ ** @",
    "@ % @",
    "@ ~ @",
    "@ == @",
    "@ < @",
    "@ < @ <= @",
    "@ in @",
    "@ not in @",
    "@ and @",
    "@ or @",
    "not @",
    "@ if @ else @",
    "@[@]",
    "@[@:]",
    "@[::-1]",
    "@[@:@:@]",
    "@.p",
    "@.items()",
    "@.get(@)",
    "@.split(@)",
    "@.join(@)",
    "@.replace(@, @)",
    "@.strip(@)",
    "@.format(@)",
    "@.count(@)",
    "@ | list",
    "@ | length",
    "@ | join(@)",
    "@ | tojson",
    "@ | string",
    "@ | sort",
    "@ | unique | list",
    "@ | reverse",
    "@ | chain(@)",
    "@ | zip(@)",
    "@ | map('list')",
    "@ | batch(@, @)",
    "@ | slice(@)",
    "@ | replace(@, @)",
    "@ | indent(@)",
    "@ | dictsort",
    "dict(@, z=@)",
    "namespace(p=@)",
    "range(@)",
    "f(@)",
];

const STATEMENTS: [&str; 13] = [
    "{% set a = @ %}",
    "{% set b = @ %}",
    "{% set ns.p = @ %}",
    "{% set ns.q = @ %}",
    "{{ @ }}",
    "{% if @ %}#{% else %}#{% endif %}",
    "{% for i in range(40) %}#{% endfor %}",
    "{% for a in @ %}#{% endfor %}",
    "{% for a, b in @ recursive %}#{{ loop(@) }}{% endfor %}",
    "{% macro f(a) %}#{% endmacro %}",
    "{% set a %}#{% endset %}",
    "{% filter upper %}#{% endfilter %}",
    "{% call f(@) %}#{% endcall %}",
];

fn pick<'t>(random: &mut ChaCha8Rng, from: &[&'t str]) -> &'t str {
    from[random.random_range(0..from.len())]
}

fn expression(random: &mut ChaCha8Rng, levels: u32) -> String {
    if levels == 0 || random.random_range(0..3) == 0 {
        return pick(random, &LEAVES).to_owned();
    }
    let shape = pick(random, &SHAPES);
    let mut parts = shape.split('@');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text = format!("{text}({}){part}", expression(random, levels - 1));
    }
    text
}

fn statements(random: &mut ChaCha8Rng, levels: u32) -> String {
    let mut text = String::new();
    for _ in 0..random.random_range(1..5) {
        for letter in pick(random, &STATEMENTS).chars() {
            match letter {
                '@' => text += &expression(random, 2),
                '#' if levels > 0 => text += &statements(random, levels - 1),
                '#' => {}
                other => text.push(other),
            }
        }
    }
    text
}

#[test]
fn templates_made_at_random_end() {
    let count: u64 = match std::env::var("OVERT_TEST_TEMPLATES") {
        Ok(count) => count.parse().unwrap(),
        Err(_) => 1_500,
    };
    let mut ended = [0_u32; 2];
    for seed in 0..count {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let start = "{% set ns = namespace(p=['x'], q='y') %}{% set a = [1, 'b'] %}{% set b = {'k': a} %}{% macro f(a) %}{{ a }}{% endmacro %}";
        let source = start.to_owned() + &statements(&mut random, 3);
        ended[usize::from(rendered(&source).is_ok())] += 1;
    }
    let [failed, done] = ended;
    assert!(
        failed > 100 && done > 100,
        "{failed} failed, {done} rendered"
    );
}
