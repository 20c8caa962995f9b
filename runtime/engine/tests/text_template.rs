//! Chat templates render as Hugging Face's tokenizers render them, and hostile ones end with an error.

use overt_engine::gguf::{Gguf, GgufWriter};
use overt_engine::text::{ChatTemplate, Date, Message, Rendering, TemplateError};

/// The template that SmolLM2's files carry.
const SMOLLM2: &str = "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system
You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>
' }}{% endif %}{{'<|im_start|>' + message['role'] + '
' + message['content'] + '<|im_end|>' + '
'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant
' }}{% endif %}";

fn template(source: &str) -> ChatTemplate {
    ChatTemplate::new(source, "<s>", "</s>").unwrap_or_else(|error| panic!("{error}"))
}

fn said(role: &str, content: &str) -> Message {
    Message::new(role, content)
}

fn rendered(source: &str, messages: &[Message]) -> String {
    template(source)
        .render(messages, &Rendering::default())
        .unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn smollm2_gets_its_own_marks() {
    let text = rendered(SMOLLM2, &[said("user", "Hi!")]);
    assert_eq!(
        text,
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n<|im_start|>user\nHi!<|im_end|>\n<|im_start|>assistant\n"
    );
    let how = Rendering {
        add_generation_prompt: false,
        ..Rendering::default()
    };
    let messages = [
        said("system", "S"),
        said("user", "U"),
        said("assistant", "A"),
    ];
    let text = template(SMOLLM2).render(&messages, &how).unwrap();
    assert_eq!(
        text,
        "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\nA<|im_end|>\n"
    );
}

#[test]
fn blocks_leave_no_lines_and_a_last_line_break_is_dropped() {
    let source = "{% for m in messages %}\n    {% if true %}\n{{ m.content }}\n    {% endif %}\n{% endfor %}\nend\n";
    assert_eq!(
        rendered(source, &[said("user", "a"), said("user", "b")]),
        "a\nb\nend"
    );
}

#[test]
fn what_templates_call_is_there() {
    let messages = [said("user", " <think>x</think> y "), said("assistant", "z")];
    for (source, wanted) in [
        ("{{ bos_token }}{{ eos_token }}", "<s></s>"),
        ("{{ messages[0].content.strip() }}", "<think>x</think> y"),
        (
            "{{ messages[0]['content'].split('</think>')[-1].lstrip() }}",
            "y ",
        ),
        ("{{ messages[0].content | trim | length }}", "18"),
        ("{{ messages[1:][0].role }}", "assistant"),
        ("{{ messages[-1].role.startswith('assi') }}", "True"),
        ("{{ messages[0].tool_calls is defined }}", "False"),
        ("{{ tools is none or tools is undefined }}", "True"),
        (
            "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + loop.index0 %}{% endfor %}{{ ns.n }}",
            "1",
        ),
        (
            "{% for m in messages %}{% if loop.index0 == 1 %}{% break %}{% endif %}{{ m.role }}{% endfor %}",
            "user",
        ),
        (
            "{% macro f(m) %}[{{ m.role }}]{% endmacro %}{{ f(messages[1]) }}",
            "[assistant]",
        ),
        (
            "{{ messages[1] | tojson }}",
            "{\"role\": \"assistant\", \"content\": \"z\"}",
        ),
        (
            "{{ messages[0].content | tojson }}",
            "\" <think>x</think> y \"",
        ),
        (
            "{{ ['é', 1, none, true] | tojson }}",
            "[\"é\", 1, null, true]",
        ),
        ("{{ [1] | tojson(indent=4) }}", "[\n    1\n]"),
        ("{{ ([1, 2, 3] + [4])[1:-1] }}", "[2, 3]"),
        ("{{ 'añb'[::-1] }}{{ 'abc'[1:] }}{{ 'abc'[-1] }}", "bñabcc"),
        (
            "{{ messages | map(attribute='role') | join(',') }}",
            "user,assistant",
        ),
        (
            "{% for key, value in messages[1].items() %}{{ key }}={{ value }};{% endfor %}",
            "role=assistant;content=z;",
        ),
        (
            "{{ messages | selectattr('role', 'equalto', 'user') | list | length }}",
            "1",
        ),
        ("{{ 'x' if 'z' in messages[1].content else 'y' }}", "x"),
        ("{{ nothing[1:] }}{{ 1 < 2 < 3 }}", "[]True"),
        (
            "{% for a in [[1, [2]]] recursive %}{% if a is iterable %}({{ loop(a) }}){% else %}{{ a }}{% endif %}{% endfor %}",
            "(1(2))",
        ),
        (
            "{% macro f(x) %}<{{ caller() }}{{ x }}>{% endmacro %}{% call f(1) %}a{% endcall %}",
            "<a1>",
        ),
        ("{{ '<&\\'>' }}", "<&'>"),
        ("{{ strftime_now is defined }}", "False"),
    ] {
        assert_eq!(rendered(source, &messages), wanted, "{source}");
    }
}

#[test]
fn the_date_is_given() {
    let template = template(
        "{% if strftime_now is defined %}{{ strftime_now('%d %b %Y') }}{% else %}26 Jul 2024{% endif %}",
    );
    let how = Rendering {
        today: Date::new(2025, 3, 9),
        ..Rendering::default()
    };
    assert_eq!(template.render(&[], &how).unwrap(), "09 Mar 2025");
    assert_eq!(
        template.render(&[], &Rendering::default()).unwrap(),
        "26 Jul 2024"
    );
}

#[test]
fn a_refusal_has_the_words_of_the_template() {
    let template = template(
        "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported\u{1b}') }}{% endif %}",
    );
    let error = template
        .render(&[said("system", "x")], &Rendering::default())
        .unwrap_err();
    let words = r"System role not supported\u{1b}".to_owned();
    assert_eq!(error, TemplateError::Refused { words });
    assert_eq!(
        template
            .render(&[said("user", "x")], &Rendering::default())
            .unwrap(),
        ""
    );
}

#[test]
fn what_is_no_template_is_refused_with_its_line() {
    let error = ChatTemplate::new("a\n{% for x in %}", "", "").unwrap_err();
    assert!(
        matches!(&error, TemplateError::Syntax { words } if words.contains("line 2")),
        "{error}"
    );
    let error = ChatTemplate::new("x".repeat(2 << 20), "", "").unwrap_err();
    assert!(matches!(error, TemplateError::TooLong { .. }));
    let error = template("\n{{ nothing.at.all }}")
        .render(&[], &Rendering::default())
        .unwrap_err();
    assert!(
        matches!(&error, TemplateError::Failed { words } if words.contains("line 2")),
        "{error}"
    );
}

#[test]
fn templates_read_no_files() {
    for source in [
        "{% include '/etc/passwd' %}",
        "{% extends '/etc/passwd' %}",
        "{% import '/etc/passwd' as p %}",
        "{{ open('/etc/passwd') }}",
    ] {
        let read =
            ChatTemplate::new(source, "", "").and_then(|t| t.render(&[], &Rendering::default()));
        assert!(read.is_err(), "{source}: {read:?}");
    }
}

#[test]
fn a_long_conversation_is_not_endless() {
    let messages: Vec<Message> = (0..400)
        .map(|_| said("user", &"word ".repeat(2_000)))
        .collect();
    assert!(rendered(SMOLLM2, &messages).len() > 4_000_000);
}

#[test]
fn a_file_without_a_template_says_so() {
    let mut writer = GgufWriter::new();
    writer
        .set("tokenizer.ggml.tokens", &["a", "<b>"][..])
        .unwrap();
    writer.set("tokenizer.ggml.bos_token_id", 1_u32).unwrap();
    let bytes = writer.clone().finish();
    let error = ChatTemplate::from_gguf(&Gguf::parse(&bytes).unwrap()).unwrap_err();
    assert_eq!(error, TemplateError::Missing);
    writer
        .set("tokenizer.chat_template", "{{ bos_token }}!{{ eos_token }}")
        .unwrap();
    let bytes = writer.finish();
    let template = ChatTemplate::from_gguf(&Gguf::parse(&bytes).unwrap()).unwrap();
    assert_eq!(template.render(&[], &Rendering::default()).unwrap(), "<b>!");
}
