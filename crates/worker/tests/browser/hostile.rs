//! Pages that attack.

use std::io;
use std::net::{IpAddr, UdpSocket};
use std::sync::atomic::{AtomicU32, Ordering};

use countersign_core::Action;
use countersign_net::Resolve;
use countersign_wire::work::{Ended, WorkResult};
use countersign_worker::Resolver;

use super::harness::Hands;
use super::site::Site;

fn refused(result: &WorkResult) -> String {
    result.value["refused"].to_string()
}

#[test]
fn a_redirect_does_not_lead_inside() {
    let Some(hands) = Hands::new() else { return };
    let inside = Site::start();
    for to in ["http://169.254.169.254/latest".to_owned(), format!("{}/admin", inside.origin())] {
        hands.site.page("/go", "302 Found", "text/html", &format!("Location: {to}\r\n"), "");
        let opened = hands.open("/go");
        assert_eq!(opened.ended, Ended::Failed, "{opened:?}");
        assert!(refused(&opened).contains(&to), "{opened:?}");
    }
    assert!(inside.is_untouched());
}

#[test]
fn a_page_reaches_nothing_inside() {
    let Some(hands) = Hands::new() else { return };
    let inside = Site::start();
    let (to, host) = (inside.origin(), format!("127.0.0.1:{}", inside.port));
    let ways = [
        format!("fetch('{to}/a',{{mode:'no-cors'}})"),
        format!("new WebSocket('ws://{host}/b')"),
        format!("new Image().src='{to}/c'"),
        format!("let f=document.createElement('iframe');f.src='{to}/d';document.body.append(f)"),
        format!(
            "let l=document.createElement('link');l.rel='prefetch';l.href='{to}/e';document.head.append(l)"
        ),
        format!(
            "let l=document.createElement('link');l.rel='preconnect';l.href='{to}';document.head.append(l)"
        ),
        format!("open('{to}/f')"),
        format!("new EventSource('{to}/g')"),
        format!("navigator.sendBeacon('{to}/h','x')"),
        "navigator.serviceWorker.register('/service.js')".to_owned(),
        "new Worker('/worker.js')".to_owned(),
    ];
    let fetch = format!("fetch('{to}/w',{{mode:'no-cors'}})");
    hands.site.page("/worker.js", "200 OK", "text/javascript", "", &fetch);
    let service = format!("addEventListener('activate',e=>e.waitUntil({fetch}))");
    hands.site.page("/service.js", "200 OK", "text/javascript", "", &service);
    hands.site.page("/down", "302 Found", "text/html", &format!("Location: {to}/down\r\n"), "");
    for way in ways {
        hands.site.html(
            "/",
            &format!("<button id=b>Go</button><script>b.onclick=()=>{{{way}}}</script>"),
        );
        hands.open("/");
        let clicked = hands.click("Go");
        assert_eq!(clicked.ended, Ended::Done, "{way}: {clicked:?}");
        assert!(inside.is_untouched(), "{way}: {clicked:?}");
    }
}

#[test]
fn nothing_leaves_by_udp() {
    let Some(hands) = Hands::new() else { return };
    let stun = UdpSocket::bind("127.0.0.1:0").unwrap();
    stun.set_nonblocking(true).unwrap();
    let port = stun.local_addr().unwrap().port();
    let way = format!(
        "let p=new RTCPeerConnection({{iceServers:[{{urls:'stun:127.0.0.1:{port}'}}]}});\
         p.createDataChannel('x');p.createOffer().then(o=>p.setLocalDescription(o));\
         p.onicegatheringstatechange=()=>p.iceGatheringState=='complete'&&fetch('/gathered');\
         try{{new WebTransport('https://127.0.0.1:{port}/')}}catch{{}}"
    );
    hands.site.html("/", &format!("<script>{way}</script>"));
    hands.open("/");
    let began = std::time::Instant::now();
    while !hands.site.has("GET /gathered") {
        assert!(began.elapsed().as_secs() < 60, "the page never ended gathering");
        std::thread::yield_now();
    }
    assert!(stun.recv(&mut [0; 100]).is_err());
}

#[test]
fn a_page_that_is_not_on_the_web_is_left() {
    let Some(hands) = Hands::new() else { return };
    let ways = [
        "location=URL.createObjectURL(new Blob(['<h1>made'],{type:'text/html'}))",
        "location='data:text/html,<h1>made'",
        "location='file:///etc/passwd'",
        "location='chrome://version'",
        "open(URL.createObjectURL(new Blob(['<h1>made'],{type:'text/html'})))",
    ];
    for way in ways {
        hands.site.html(
            "/",
            &format!("<button id=b>Go</button><script>b.onclick=()=>{{{way}}}</script>"),
        );
        hands.open("/");
        let clicked = hands.click("Go");
        let at = hands.address();
        assert!(at.starts_with("http://") || at == "about:blank", "{way}: {at} {clicked:?}");
        assert!(!hands.read().contains("made"), "{way}");
    }
    for url in ["javascript:alert(1)", "data:text/html,x", "blob:http://x/1", "file:///etc/passwd"]
    {
        let opened = hands.run(Action::Navigate { url: url.to_owned() });
        assert_eq!(opened.ended, Ended::Refused, "{opened:?}");
    }
}

#[test]
fn a_name_that_leads_inside_the_second_time_is_refused() {
    struct Rebinding(AtomicU32);
    impl Resolve for Rebinding {
        fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
            // Public at first, then this machine.
            let first = self.0.fetch_add(1, Ordering::SeqCst) == 0;
            Ok(vec![if first { "192.0.2.1" } else { "127.0.0.1" }.parse().unwrap()])
        }
    }
    let Some(mut hands) = Hands::with(Resolver::new(Rebinding(AtomicU32::new(0)))) else { return };
    let origin = format!("http://shop.example:{}", hands.site.port);
    hands.origins = vec![origin.clone()];
    for _ in 0..2 {
        let opened = hands.run(Action::Navigate { url: format!("{origin}/") });
        assert_eq!(opened.ended, Ended::Failed, "{opened:?}");
    }
    assert!(hands.site.is_untouched());
}
