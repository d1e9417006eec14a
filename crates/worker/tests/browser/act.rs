//! Acting on elements.

use countersign_core::action::UiOp;
use countersign_wire::work::Ended;

use super::harness::{Hands, name};

#[test]
fn fields_are_filled_chosen_pressed_and_submitted() {
    let Some(hands) = Hands::new() else { return };
    hands.site.html(
        "/",
        "<form action=/order method=post><input name=q aria-label=Search>
         <select name=size aria-label=Size><option>small<option>large</select><button>Go</button></form>",
    );
    hands.open("/");
    let typed = hands.ui(UiOp::Type, &hands.element("Search"), Some("tea & milk"));
    assert_eq!(typed.ended, Ended::Done, "{typed:?}");
    hands.ui(UiOp::Select, &hands.element("Size"), Some("large"));
    let submitted = hands.ui(UiOp::Submit, &hands.element("Go"), None);
    assert_eq!(submitted.ended, Ended::Done, "{submitted:?}");
    assert_eq!(hands.site.changes()[0].body, "q=tea+%26+milk&size=large");
    hands.open("/");
    let pressed = hands.ui(UiOp::Press, &hands.element("Search"), Some("Enter"));
    assert_eq!(pressed.ended, Ended::Done, "{pressed:?}");
    assert_eq!(hands.site.changes().len(), 2);
}

#[test]
fn an_element_in_another_frame_is_clicked_where_it_is() {
    let Some(mut hands) = Hands::new() else { return };
    // Another site, so that its frame has a process of its own.
    let other = format!("http://localhost:{}", hands.site.port);
    hands.origins.push(other.clone());
    hands
        .site
        .html("/", &format!("<p style='height:80px'>above</p><iframe src={other}/in></iframe>"));
    hands.site.html("/in", "<button onclick=\"fetch('/hit',{method:'POST'})\">Inner</button>");
    hands.open("/");
    let clicked = hands.click("Inner");
    assert_eq!(clicked.ended, Ended::Done, "{clicked:?}");
    assert_eq!(hands.site.changes().len(), 1, "{clicked:?}");
}

/// Opens a page, describes its button, lets the page change, and clicks.
fn changed(content: &str) -> Option<(Ended, String, usize)> {
    let hands = Hands::new()?;
    hands.site.html("/", content);
    hands.open("/");
    let button = hands.element("Save");
    let change = hands.element("Change");
    let done = hands.ui(UiOp::Click, &change, None);
    assert_eq!(done.ended, Ended::Done, "{done:?}");
    let result = hands.ui(UiOp::Click, &button, None);
    Some((result.ended, name(&result).to_owned(), hands.site.changes().len()))
}

const SAVE: &str = "<button id=a onclick=\"fetch('/hit',{method:'POST'})\">Save</button>";

#[test]
fn an_element_that_was_relabelled_is_not_clicked() {
    let page = format!("{SAVE}<button onclick=\"a.textContent='Delete all'\">Change</button>");
    let Some(result) = changed(&page) else { return };
    assert_eq!(result, (Ended::Refused, "ElementChanged".to_owned(), 0));
}

#[test]
fn an_element_whose_form_leads_elsewhere_now_is_not_clicked() {
    let page = "<form id=f action=/save method=post><button>Save</button></form>
        <button onclick=\"f.action='/delete'\">Change</button>";
    let Some(result) = changed(page) else { return };
    assert_eq!(result, (Ended::Refused, "ElementChanged".to_owned(), 0));
}

#[test]
fn a_click_does_not_reach_what_was_moved_over_the_element() {
    let cover = "<div id=c style='position:fixed;inset:0;display:none' \
        onclick=\"fetch('/hit',{method:'POST'})\"></div>";
    let page = format!("{SAVE}{cover}<button onclick=\"c.style.display='block'\">Change</button>");
    let Some(result) = changed(&page) else { return };
    assert_eq!(result, (Ended::Refused, "ElementChanged".to_owned(), 0));
}

#[test]
fn a_click_does_not_reach_a_frame_over_the_element() {
    let frame = "<iframe id=c style='position:fixed;inset:0;width:100%;height:100%;display:none;opacity:0' \
        srcdoc=\"<body style='height:100vh' onclick=&quot;fetch('/hit',{method:'POST'})&quot;>\"></iframe>";
    let page = format!("{SAVE}{frame}<button onclick=\"c.style.display='block'\">Change</button>");
    let Some(result) = changed(&page) else { return };
    assert_eq!(result, (Ended::Refused, "ElementChanged".to_owned(), 0));
}

#[test]
fn an_element_that_changes_when_the_mouse_comes_is_not_clicked() {
    let page = format!(
        "{SAVE}<button onclick=\"a.onmousemove=()=>{{a.textContent='Delete all'}}\">Change</button>"
    );
    let Some(result) = changed(&page) else { return };
    assert_eq!(result, (Ended::Refused, "ElementChanged".to_owned(), 0));
}
