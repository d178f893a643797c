//! moto.

use yuba_testkit::servers::moto;

pub(crate) fn serves() {
    let moto = moto().expect("because it is installed");
    moto.create_bucket("tofu-state");
    moto.enable_versioning("tofu-state");
    moto.s3("PUT", "/tofu-state/a/b.tfstate", "one");
    moto.s3("PUT", "/tofu-state/a/b.tfstate", "two");
    assert_eq!(moto.s3("GET", "/tofu-state/a/b.tfstate", "").body, "two");
    let versions = moto.s3("GET", "/tofu-state?versions", "").body;
    assert_eq!(versions.matches("<VersionId>").count(), 2, "{versions}");
    let refused = moto.ask_s3("PUT", "/tofu-state/a/b.tfstate", &[("If-None-Match", "*")], "three");
    assert_eq!(refused.status, 412);

    moto.create_lock_table("tofu-locks");
    moto.dynamodb("PutItem", r#"{"TableName":"tofu-locks","Item":{"LockID":{"S":"tofu-state/a"},"Info":{"S":"x"}}}"#);
    let items = moto.scan("tofu-locks");
    assert!(items.contains(r#""LockID": {"S": "tofu-state/a"}"#), "{items}");

    let key = moto.create_kms_key();
    assert_eq!(key.len(), 36, "{key}");
    moto.reset();
    assert_eq!(moto.ask_s3("GET", "/tofu-state", &[], "").status, 404);
}
