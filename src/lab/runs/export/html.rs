//! A report as one page for a browser, to send or to put online: the drawing, and the text of the Markdown report.
//!
//! It has no script and no link to another place. Names are escaped by the two that it is made of.

use pulldown_cmark::{Options, Parser, html};

const STYLE: &str = "body{font:16px/1.5 sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}svg{max-width:100%;height:auto}\
                     table{border-collapse:collapse}th,td{padding:.2rem .6rem;border-bottom:1px solid #ccc;text-align:left}";

/// `markdown` is the text of a report, `svg` its drawing, `title` what the browser calls the page.
pub fn page(title: &str, markdown: &str, svg: &str) -> String {
    let mut text = String::new();
    html::push_html(&mut text, Parser::new_ext(markdown, Options::ENABLE_TABLES));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n\
         <body>\n{svg}{text}</body>\n</html>\n"
    )
}
