//! One case of the official Rust client's API per argument, against the controller at the first argument.
//!
//! Each case uses a scope of its own and prints one line, `NAME: ANSWER`. A failure panics. The test compares the
//! answers of the embedded store with those that are written in it.

use futures::StreamExt;
use pravega_client::client_factory::ClientFactory;
use pravega_client::sync::table::TableError;
use pravega_client_config::ClientConfigBuilder;
use pravega_client_macros::Fields;
use pravega_client_shared::*;
use pravega_controller_client::ControllerClient;
use std::collections::BTreeMap;
use std::io::SeekFrom;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);

struct Case {
    factory: ClientFactory,
    scope: Scope,
}

impl Case {
    fn controller(&self) -> &dyn ControllerClient {
        self.factory.controller_client()
    }

    async fn stream(&self, name: &str, segments: i32) -> ScopedStream {
        let stream = ScopedStream {
            scope: self.scope.clone(),
            stream: Stream::from(name.to_owned()),
        };
        let config = StreamConfiguration {
            scoped_stream: stream.clone(),
            scaling: Scaling {
                scale_type: ScaleType::FixedNumSegments,
                min_num_segments: segments,
                ..Default::default()
            },
            retention: Retention::default(),
            tags: None,
        };
        assert!(self.controller().create_stream(&config).await.expect("create a stream"));
        stream
    }

    async fn write(&self, stream: &ScopedStream, from: usize, to: usize) {
        let mut writer = self.factory.create_event_writer(stream.clone());
        for n in from..to {
            let done = writer
                .write_event_by_routing_key(format!("key{}", n % 5), format!("{n}").into_bytes())
                .await;
            done.await.expect("an answer").expect("an acknowledged event");
        }
        writer.flush().await.expect("flush");
    }

    /// Read this many events with a new group of one reader, and return them by routing key.
    async fn read(&self, stream: &ScopedStream, group: &str, count: usize) -> BTreeMap<usize, Vec<usize>> {
        let group = self.factory.create_reader_group(group.to_owned(), stream.clone()).await;
        let mut reader = group.create_reader("reader".to_owned()).await;
        let mut found: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut left = count;
        while left > 0 {
            let slice = tokio::time::timeout(PATIENCE, reader.acquire_segment()).await.expect("in time");
            if let Some(mut slice) = slice.expect("a slice") {
                for event in slice.by_ref() {
                    let n: usize = String::from_utf8(event.value).unwrap().parse().unwrap();
                    found.entry(n % 5).or_default().push(n);
                    left -= 1;
                }
                reader.release_segment(slice).await.expect("release");
            }
        }
        reader.reader_offline().await.expect("offline");
        found
    }
}

fn in_order(found: &BTreeMap<usize, Vec<usize>>) -> bool {
    found.values().all(|of_key| of_key.windows(2).all(|pair| pair[0] < pair[1]))
}

/// Scopes, streams, a scale, its successors, truncation, seal and deletion.
async fn controller(case: &Case) -> String {
    let controller = case.controller();
    let stream = case.stream("events", 1).await;
    assert!(controller.check_scope_exists(&case.scope).await.unwrap());
    assert!(controller.check_stream_exists(&stream).await.unwrap());
    let ranges = [(0.0, 0.5), (0.5, 1.0)];
    let sealed = [Segment { number: 0, tx_id: None }];
    controller.scale_stream(&stream, &sealed, &ranges).await.expect("scale");
    let now = controller.get_current_segments(&stream).await.unwrap().key_segment_map.len();
    let before = controller.get_epoch_segments(&stream, 0).await.unwrap().key_segment_map.len();
    let first = ScopedSegment {
        scope: case.scope.clone(),
        stream: stream.stream.clone(),
        segment: sealed[0].clone(),
    };
    let after = controller.get_successors(&first).await.unwrap().segment_with_predecessors.len();
    assert!(controller.seal_stream(&stream).await.unwrap());
    assert!(controller.delete_stream(&stream).await.unwrap());
    assert!(controller.delete_scope(&case.scope).await.unwrap());
    format!("{before} segment, then {now}, {after} successors")
}

/// Events of five keys across a scale, read by a group.
async fn events(case: &Case) -> String {
    let stream = case.stream("events", 1).await;
    case.write(&stream, 0, 50).await;
    let sealed = [Segment { number: 0, tx_id: None }];
    let ranges = [(0.0, 0.5), (0.5, 1.0)];
    case.controller().scale_stream(&stream, &sealed, &ranges).await.expect("scale");
    case.write(&stream, 50, 100).await;
    let found = case.read(&stream, "group", 100).await;
    format!("{} keys, {} events, in order: {}", found.len(), found.values().flatten().count(), in_order(&found))
}

/// A transaction that is committed, one that is aborted, and one that is found by its id.
async fn transactions(case: &Case) -> String {
    let stream = case.stream("events", 2).await;
    let mut writer = case.factory.create_transactional_event_writer(stream.clone(), WriterId(1)).await;
    let mut kept = writer.begin().await.expect("begin");
    let mut dropped = writer.begin().await.expect("begin");
    for n in 0..20 {
        let key = Some(format!("key{}", n % 5));
        kept.write_event(key.clone(), format!("{n}").into_bytes()).await.expect("write");
        dropped.write_event(key, format!("{}", n + 1000).into_bytes()).await.expect("write");
    }
    dropped.abort().await.expect("abort");
    kept.commit(Timestamp(0)).await.expect("commit");
    let again = writer.get_txn(kept.txn_id()).await.expect("the transaction");
    let began = std::time::Instant::now();
    while again.check_status().await.expect("status") != TransactionStatus::Committed {
        assert!(began.elapsed() < PATIENCE, "it is never committed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let found = case.read(&stream, "group", 20).await;
    format!("{} events, in order: {}", found.values().flatten().count(), in_order(&found))
}

/// Bytes that are written, sought, truncated and read.
async fn bytes(case: &Case) -> String {
    let stream = case.stream("bytes", 1).await;
    let mut writer = case.factory.create_byte_writer(stream.clone()).await;
    writer.write(b"0123456789").await.expect("write");
    writer.flush().await.expect("flush");
    writer.truncate_data_before(4).await.expect("truncate");
    let mut reader = case.factory.create_byte_reader(stream).await;
    let (head, tail) = (reader.current_head().await.unwrap(), reader.current_tail().await.unwrap());
    reader.seek(SeekFrom::Start(6)).await.expect("seek");
    let mut found = [0_u8; 4];
    let mut size = 0;
    while size < found.len() {
        size += reader.read(&mut found[size..]).await.expect("read");
    }
    format!("{head} to {tail}, read {}", String::from_utf8_lossy(&found))
}

/// Conditional updates of a table, and an iteration.
async fn table(case: &Case) -> String {
    let table = case.factory.create_table(case.scope.clone(), "table".to_owned()).await;
    let (key, other) = ("key".to_owned(), "other".to_owned());
    let first = table.insert_conditionally(&key, &1_u64, -1, -1).await.expect("put if absent");
    let refused = table.insert_conditionally(&key, &2_u64, -1, -1).await;
    assert!(matches!(refused, Err(TableError::IncorrectKeyVersion { .. })), "{refused:?}");
    let second = table.insert_conditionally(&key, &3_u64, first, -1).await.expect("replace");
    assert!(second > first);
    table.insert_all(vec![(&other, &4_u64)], -1).await.expect("put");
    let refused = table.remove_conditionally(&key, first, -1).await;
    assert!(matches!(refused, Err(TableError::IncorrectKeyVersion { .. })), "{refused:?}");
    table.remove_conditionally(&other, TableKeyNoVersion::VALUE, -1).await.expect("remove");
    let missing: Option<(u64, i64)> = table.get(&other).await.expect("get");
    assert!(missing.is_none());
    let found: Vec<(String, u64)> = table
        .read_entries_stream::<String, u64>(10)
        .map(|entry| entry.expect("an entry"))
        .map(|(key, value, _)| (key, value))
        .collect()
        .await;
    format!("{found:?}")
}

/// Two synchronizers of one state: each sees what the other wrote.
async fn synchronizer(case: &Case) -> String {
    let mut one = case.factory.create_synchronizer(case.scope.clone(), "state".to_owned()).await;
    let mut two = case.factory.create_synchronizer(case.scope.clone(), "state".to_owned()).await;
    for n in 0..10_i32 {
        let writer = if n % 2 == 0 { &mut one } else { &mut two };
        writer
            .insert(|update| {
                update.insert("gates".to_owned(), format!("A{n}"), "i32".to_owned(), Box::new(n));
                Ok(None::<String>)
            })
            .await
            .expect("insert");
    }
    one.fetch_updates().await.expect("fetch");
    two.fetch_updates().await.expect("fetch");
    let (first, second) = (one.get_inner_map("gates").len(), two.get_inner_map("gates").len());
    format!("{first} and {second} gates")
}

#[derive(Fields, Debug, PartialOrd, PartialEq)]
struct Place {
    id: u64,
    timestamp: u64,
}

/// An index: records with fields, an append that expects the last one, and a search.
async fn index(case: &Case) -> String {
    let stream = case.stream("index", 1).await;
    let mut writer = case.factory.create_index_writer::<Place>(stream.clone()).await;
    for n in 0..10 {
        writer.append(Place { id: n, timestamp: 10 * n }, vec![n as u8; 8]).await.expect("append");
    }
    let last = Place { id: 9, timestamp: 90 };
    writer.append_conditionally(Place { id: 10, timestamp: 100 }, last, vec![10; 8]).await.expect("append");
    writer.flush().await.expect("flush");
    let reader = case.factory.create_index_reader(stream).await;
    let at = reader.search_offset(("timestamp", 35)).await.expect("search");
    let record = {
        let found = reader.read(at, u64::MAX).expect("read");
        futures::pin_mut!(found);
        found.next().await.expect("a record").expect("a record")
    };
    let last = reader.last_record_data().await.expect("the last record");
    format!("first of 35 or later: {}, last: {}", record[0], last[0])
}

/// A key with any version.
struct TableKeyNoVersion;

impl TableKeyNoVersion {
    const VALUE: i64 = i64::MIN;
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let config = ClientConfigBuilder::default()
        .controller_uri(PravegaNodeUri::from(arguments[1].clone()))
        .build()
        .expect("a configuration");
    for name in &arguments[2..] {
        let factory = ClientFactory::new(config.clone());
        let runtime = factory.runtime_handle();
        let case = Case {
            factory,
            scope: Scope::from(format!("rust-{name}")),
        };
        let answer = runtime.block_on(async {
            assert!(case.controller().create_scope(&case.scope).await.expect("create a scope"));
            match name.as_str() {
                "controller" => controller(&case).await,
                "events" => events(&case).await,
                "transactions" => transactions(&case).await,
                "bytes" => bytes(&case).await,
                "table" => table(&case).await,
                "synchronizer" => synchronizer(&case).await,
                "index" => index(&case).await,
                _ => panic!("there is no case {name}"),
            }
        });
        println!("{name}: {answer}");
    }
}
