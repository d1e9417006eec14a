//! Requests that change something are held.

use countersign_core::Action;
use countersign_wire::work::Ended;

use super::harness::Hands;

const SHOP: &str = "<form action=/pay method=post><input name=to value=Anna><input type=hidden \
    name=amount value=12.50><button>Pay</button></form>";

#[test]
fn a_form_is_sent_only_after_a_yes_with_exactly_what_was_shown() {
    for says_yes in [true, false] {
        let Some(mut hands) = Hands::new() else { return };
        hands.server.says_yes = says_yes;
        hands.site.html("/", SHOP);
        hands.open("/");
        let clicked = hands.click("Pay");
        assert_eq!(clicked.ended, Ended::Done, "{clicked:?}");
        let asked = hands.asked();
        let (Action::HttpRequest { method, url, body }, details) = &asked[0] else {
            panic!("{asked:?}")
        };
        assert_eq!((method.as_str(), url), ("POST", &format!("{}/pay", hands.site.origin())));
        let shown = [
            format!("POST to {}", hands.site.origin()),
            "amount amount: 12.50".into(),
            "field to: Anna".into(),
        ];
        assert_eq!(details[..], shown);
        let arrived: Vec<_> = hands.site.changes().into_iter().map(|it| it.body).collect();
        let expected: Vec<_> = says_yes.then(|| body.clone().unwrap()).into_iter().collect();
        assert_eq!(arrived, expected);
        assert_eq!(clicked.value["refused"].is_null(), says_yes, "{clicked:?}");
    }
}

#[test]
fn every_way_to_send_something_is_held() {
    let ways = [
        "fetch('/x',{method:'POST',body:'1'})",
        "fetch('/x',{method:'DELETE'})",
        "fetch('/x',{method:'PUT',body:new Blob(['1'])})",
        "fetch('/x',{method:'POST',body:'1',keepalive:true})",
        "navigator.sendBeacon('/x','1')",
        "let r=new XMLHttpRequest();r.open('POST','/x');r.send('1')",
        "new Worker('/worker.js')",
        "new SharedWorker('/worker.js')",
        "navigator.serviceWorker.register('/service.js')",
        "let f=document.createElement('iframe');f.srcdoc='<form method=post action=/x><input name=a></form>\
            <script>document.forms[0].submit()</scr'+'ipt>';document.body.append(f)",
    ];
    for way in ways {
        let Some(mut hands) = Hands::new() else { return };
        hands.server.says_yes = false;
        let send = "fetch('/x',{method:'POST',body:'1'})";
        hands.site.page("/worker.js", "200 OK", "text/javascript", "", send);
        let service = format!("addEventListener('activate',e=>e.waitUntil({send}))");
        hands.site.page("/service.js", "200 OK", "text/javascript", "", &service);
        hands.site.html(
            "/",
            &format!("<button id=b>Go</button><script>b.onclick=()=>{{{way}}}</script>"),
        );
        hands.open("/");
        let clicked = hands.click("Go");
        assert!(!hands.asked().is_empty(), "{way}: {clicked:?}");
        assert_eq!(hands.site.changes(), [], "{way}");
    }
}

#[test]
fn what_a_page_sends_by_itself_while_nothing_runs_is_refused() {
    let Some(hands) = Hands::new() else { return };
    // Long after the page has settled.
    let send =
        "setTimeout(()=>fetch('/late',{method:'POST'}).catch(()=>fetch('/was-refused')),4000)";
    hands.site.html("/", &format!("<script>{send}</script>"));
    hands.open("/");
    let began = std::time::Instant::now();
    while !hands.site.has("GET /was-refused") {
        assert!(began.elapsed().as_secs() < 60, "the page never tried");
        std::thread::yield_now();
    }
    assert_eq!(hands.site.changes(), []);
}

#[test]
fn a_web_socket_is_opened_only_after_a_yes() {
    for says_yes in [true, false] {
        let Some(mut hands) = Hands::new() else { return };
        hands.server.says_yes = says_yes;
        hands.origins = vec!["127.0.0.1".to_owned()];
        let way = "new WebSocket('ws://'+location.host+'/live')";
        hands.site.html(
            "/",
            &format!("<button id=b>Go</button><script>b.onclick=()=>{{{way}}}</script>"),
        );
        hands.open("/");
        let clicked = hands.click("Go");
        assert_eq!(hands.asked().len(), 1, "{clicked:?}");
        assert_eq!(hands.site.has("GET /live"), says_yes, "{clicked:?}");
    }
}
