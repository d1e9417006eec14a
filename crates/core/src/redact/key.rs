//! What a name says about the value it is given.
//!
//! `dbPassword`, `DB_PASSWORD` and `--db-password` are one name; `password_file` and `publicKey`
//! are none of ours. The last part decides, unless an earlier one says the value is harmless.

use super::{
    text::{ends, is_any, starts},
    words::{is_in, words},
};

/// What kind of value the name announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// A person's or a service's password: any value that is not a blank.
    Password,
    /// A secret: drawn by a machine or chosen with care.
    Secret,
    /// A token or a key: drawn by a machine.
    Token,
    /// A key of something unknown: only what can be nothing else.
    Other,
    /// A service whose credentials have no form of their own.
    Vendor,
    /// Who signs in; says that a password nearby is one.
    User,
    /// The number of a cloud account.
    Account,
    /// `Authorization:` and its like.
    Authorization,
    /// `Cookie:` and `Set-Cookie:`.
    Cookie,
}

words! {
    /// Parts that make any name harmless.
    HARMLESS = "\
    alias antiforgery authenticity author bos cancellation captcha checksum continuation \
    csrf csrfmiddlewaretoken cursor eos fingerprint foreign forgot hint idempotency \
    integrity issuer keyword label lexer mask max min next nonce num pad page pagination \
    partition pattern placeholder policy primary prompt pub public publishable recaptcha \
    regex sep sitekey strength title tokenizer total validator xsrf"
}

words! {
    /// Parts that add nothing at the end of a name.
    TRAILERS = "\
    b64 backup base base64 default dev development encoded env header live local new old \
    param plain plaintext prod production raw secondary setting sid stage staging str \
    string test val value var"
}

words! {
    PASSWORDS = "\
    adminpass contrasena contraseña dbpass haslo heslo kennwort keypass mailpass mdp \
    motdepasse parola pass passcode passin passout passphrase passwd password passwords \
    passwort psk psswd psw pw pwd rootpass salasana senha smtppass sshpass storepass \
    userpass wachtwoord wifipass"
}

words! {
    TOKENS = "\
    apikey apikeys auth authkey authtoken bearer connectionstring credential credentials \
    creds dsn jsessionid jwt mnemonic oauth passkey pat phpsessid salt sas seed sessid \
    session sessionid sig token tokens totp webhook"
}

words! {
    /// What must stand before `key`, `login` or `code` for it to be a credential.
    KEY_OWNERS = "\
    access account activation admin aes api app appkey application auth bot cipher client \
    connection consumer cookie crypto data decryption deploy deployment developer device \
    encrypt encryption function hmac ingest ingestion insert instrumentation integration io \
    jwt licence license management master merchant org personal pre preshared private \
    product project provision query recovery refresh registration rest root rsa secret \
    security server service session shared sign signing ssh storage stream subscription \
    symmetric team tenant unseal user webhook write"
}

words! {
    /// Services whose keys look like anyone's.
    VENDORS = "\
    abuseipdb adobe adyen airbrake airtable alchemy algolia aliyun amplitude anthropic \
    appcenter appdynamics appsflyer appveyor asana assemblyai atlassian auth0 aws azure \
    baidu bamboo binance bitbucket bitly bittrex blynk braintree browserstack \
    bugsnag buildkite bybit calendly censys circleci clarifai clearbit clickhouse clickup \
    cloudant cloudflare cloudinary coda codacy codeclimate codecov cohere coinbase \
    coinmarketcap confluent contentful coveralls crowdstrike cryptocompare databricks \
    datadog deepgram deepl deepseek digicert digitalocean discord disqus docker dockerhub \
    docusign doppler dropbox dynatrace ebay elastic elevenlabs etherscan etsy \
    eventbrite facebook fastly fb figma finicity finnhub firebase flickr foursquare \
    freshbooks freshdesk gcp gemini giphy github gitlab gitter gocardless \
    godaddy google grafana harness helpscout heroku hetzner honeycomb hubspot \
    huggingface ibm infura instagram intercom ipinfo ipstack jenkins jfrog jira \
    jumpcloud kagi kakao klaviyo kraken kucoin lastfm launchdarkly linkedin \
    linode lob loggly logzio looker mailchimp mailgun mailjet mandrill mapbox mattermost \
    maxmind meraki messagebird mistral mixpanel moralis nasa netlify newrelic \
    newsapi nexmo ngrok noaa notion npm nvidia nylas nytimes okta omdb onesignal openai \
    opencage openweather openweathermap opsgenie optimizely pagerduty particle paypal \
    paystack pexels pinata pinecone pinterest pixabay plaid plivo polygon posthog postmark \
    privateai pushbullet pusher pushover quickbooks rapidapi razorpay recurly reddit \
    replicate rollbar salesforce sauce saucelabs scalr segment sendbird sendgrid sendinblue \
    sentry serpapi shodan shopify signalfx sinch slack snyk sonar sonarcloud sonarqube \
    soundcloud sparkpost splunk spotify square squareup statuspage strava stripe \
    stytch sumo sumologic supabase surveymonkey tavily telegram telnyx tiingo tmdb todoist \
    tomtom travis trello tumblr twilio twitch twitter typeform ubidots unsplash vercel \
    vimeo virustotal vonage vultr wakatime wandb weatherapi webex webflow wistia wolfram \
    woocommerce workos xero yahoo yandex yelp youtube zapier zendesk zoho zoom"
}

words! {
    /// Whose keys open nothing.
    PLAIN_KEYS = "\
    answer array attribute b bucket build cache column compose composite config context \
    dict dictionary entry enum error event field file foreign group hash header hot i18n \
    index item job json k key lookup map menu message metadata modifier natural node object \
    option order param parent path property public redis register resource route row s3 \
    schema search set shortcut slot sort source state store sub tag template text \
    translation type unique x y"
}

words! {
    /// The last parts of a vendor's name that may hold a credential.
    VENDOR_ENDS = "api appid code cred id key keys login"
}

words! {
    /// Prefixes of settings that a build copies into the page.
    PUBLISHED = "expo_public_ gatsby_ next_public_ nuxt_public_ react_app_ vite_ vue_app_"
}

/// Says what the name announces; `words` are the parts of it and of the words just before.
pub(super) fn classify(words: &[&str]) -> Option<Key> {
    if is_harmless(words) {
        return None;
    }
    let mut rest = words;
    while let [head @ .., last] = rest
        && !head.is_empty()
        && (is_in(last, TRAILERS) || last.bytes().all(|byte| byte.is_ascii_digit()))
    {
        rest = head;
    }
    let [head @ .., last] = rest else { return None };
    let last = last.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let owner = head.last().copied().unwrap_or("");
    // Bundler keeps `user:password` for a host under the host's name.
    if let [first, middle @ .., top] = words
        && is_any(first, &["bundle"])
        && middle.len() >= 2
        && is_any(top, &["com", "io", "org", "net", "dev"])
    {
        return Some(Key::Password);
    }
    if is_in(last, PASSWORDS)
        || ["password", "passwd", "passphrase", "passwort", "pwd"].iter().any(|end| ends(last, end))
    {
        return Some(Key::Password);
    }
    if is_any(last, &["secret", "secrets"]) || ends(last, "secret") {
        return Some(Key::Secret);
    }
    if is_any(last, &["authorization", "authorisation"]) {
        return Some(Key::Authorization);
    }
    if is_any(last, &["cookie", "cookies"]) {
        return Some(Key::Cookie);
    }
    if is_token(last, owner) {
        return Some(Key::Token);
    }
    if is_any(last, &["id"]) && is_any(owner, &["account", "reporter", "session"]) {
        return Some(if is_any(owner, &["account"]) { Key::Account } else { Key::Token });
    }
    let vendor = rest.iter().any(|part| is_in(part, VENDORS));
    if vendor
        && (is_any(last, &["accessid"]) || (is_any(last, &["id"]) && is_any(owner, &["access"])))
    {
        return Some(Key::Token);
    }
    if is_any(last, &["accountid"]) {
        return Some(Key::Account);
    }
    if vendor && ((rest.len() == 1 && last.len() > 2) || is_in(last, VENDOR_ENDS)) {
        return Some(Key::Vendor);
    }
    if is_any(last, &["key"]) && !owner.is_empty() && !is_in(owner, PLAIN_KEYS) {
        return Some(Key::Other);
    }
    is_in(last, USERS).then_some(Key::User)
}

/// Whether a part of the name says that its value opens nothing.
pub(super) fn is_harmless(words: &[&str]) -> bool {
    words.iter().any(|part| is_in(part, HARMLESS))
}

words! {
    /// What names written without a break end in.
    TOKEN_ENDS = "accesskey accountkey apikey authkey licensekey privatekey secretkey token"
}

fn is_token(last: &str, owner: &str) -> bool {
    is_in(last, TOKENS)
        || TOKEN_ENDS.iter().any(|end| ends(last, end))
        || (is_any(last, &["key", "keys", "keydata"]) && is_in(owner, KEY_OWNERS))
        || (is_any(last, &["data"]) && is_any(owner, &["key"]))
}

words! {
    USERS = "account email identity login uid uname user userid username usr"
}

/// Whether the name is a setting that holds a user and ends up in the page.
pub(super) fn is_published_user(name: &str, words: &[&str]) -> bool {
    let last = words.last().copied().unwrap_or("");
    is_any(last, &["user", "username"]) && PUBLISHED.iter().any(|prefix| starts(name, prefix))
}

/// Whether a name calls something that asks for, looks up or checks the value instead of giving it.
pub(super) fn is_query(words: &[&str]) -> bool {
    words! {
        VERBS = "\
        ask by check compare decode delete enter fetch find forget generate get handle has hash \
        input is load match matches needs on parse prompt read remove require revoke validate \
        verify with"
    }
    words.first().is_some_and(|first| is_in(first, VERBS))
        || words.iter().any(|part| is_any(part, &["by", "hash", "prompt"]))
}

/// Cuts a name into its parts: at punctuation and where the case says so.
pub(super) fn parts(name: &str) -> Vec<&str> {
    let bytes = name.as_bytes();
    let mut parts = Vec::new();
    let mut start = 0;
    for (index, byte) in bytes.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|index| bytes.get(index)).copied().unwrap_or(0);
        let after = bytes.get(index + 1).copied().unwrap_or(0);
        let mark = !byte.is_ascii_alphanumeric() && byte.is_ascii();
        let hump = byte.is_ascii_uppercase()
            && (before.is_ascii_lowercase()
                || before.is_ascii_digit()
                || (before.is_ascii_uppercase() && after.is_ascii_lowercase()));
        if mark || hump {
            push(&mut parts, name.get(start..index));
            start = if mark { index + 1 } else { index };
        }
    }
    push(&mut parts, name.get(start..));
    parts
}

fn push<'a>(parts: &mut Vec<&'a str>, part: Option<&'a str>) {
    if let Some(part) = part
        && !part.is_empty()
    {
        parts.push(part);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(name: &str) -> Option<Key> {
        classify(&parts(name))
    }

    #[test]
    fn one_name_in_every_spelling() {
        for name in [
            "dbPassword",
            "DB_PASSWORD",
            "db-password",
            "db.password",
            "DBPassword",
            "dbpassword",
            "password2",
        ] {
            assert_eq!(says(name), Some(Key::Password), "{name}");
        }
        for name in [
            "apiKey",
            "API_KEY",
            "x-api-key",
            "APIKey",
            "stripeApiKey",
            "accessToken",
            "private_key",
            "token1",
        ] {
            assert_eq!(says(name), Some(Key::Token), "{name}");
        }
        assert_eq!(says("client_secret"), Some(Key::Secret));
    }

    #[test]
    fn names_of_harmless_things_say_nothing() {
        for name in [
            "password_file",
            "secretName",
            "tokenType",
            "publicKey",
            "csrf_token",
            "keyboard",
            "key",
            "primary_key",
            "api_version",
            "max_tokens",
            "tokenizer",
            "bypass",
            "compass",
            "monkey",
            "credentialsId",
            "passwordLabel",
        ] {
            assert_eq!(says(name), None, "{name}");
        }
    }

    #[test]
    fn a_vendor_alone_or_with_a_key_is_a_vendor() {
        assert_eq!(says("twitter_id"), Some(Key::Vendor));
        assert_eq!(says("config.facebook.key"), Some(Key::Vendor));
        assert_eq!(says("twitter_handle"), None);
    }
}
