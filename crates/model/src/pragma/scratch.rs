use rusqlite::Connection;
fn get(c:&Connection,p:&str)->String{
    let mut s=match c.prepare(&format!("PRAGMA {p}")){Ok(s)=>s,Err(e)=>return format!("prepERR {e}")};
    let n=s.column_count();
    let mut r=match s.query([]){Ok(r)=>r,Err(e)=>return format!("ERR {e}")};
    match r.next(){Ok(Some(r))=>(0..n).map(|i|format!("{:?}",r.get_ref(i).unwrap())).collect::<Vec<_>>().join(","),Ok(None)=>"none".into(),Err(e)=>format!("ERR {e}")}
}
#[test] fn x(){
    let runs:&[&[&str]]=&[
    &["journal_mode=wal","page_size=8192","!","page_size"],
    &["page_size=8192","journal_mode=wal","!","page_size"],
    &["journal_mode=wal","auto_vacuum=full","auto_vacuum","!","auto_vacuum"],
    &["journal_mode=wal","auto_vacuum=incremental","auto_vacuum","!","auto_vacuum"],
    &["auto_vacuum=full","journal_mode=wal","!","auto_vacuum"],
    &["journal_mode=wal","encoding='UTF-16le'","encoding","!","encoding"],
    &["auto_vacuum=full","page_size=8192","page_size","!","page_size"],
    &["auto_vacuum=none","page_size=8192","page_size","!","page_size"],
    &["auto_vacuum=full","encoding='UTF-16le'","encoding","!","encoding"],
    &["user_version=3","encoding='UTF-16le'","encoding","!","encoding"],
    &["user_version=3","page_size=8192","page_size","!","page_size"],
    &["user_version=3","auto_vacuum=full","auto_vacuum","!","auto_vacuum"],
    &["application_id=3","page_size=8192","page_size","!","page_size"],
    &["schema_version=3","page_size=8192","page_size","!","page_size"],
    &["synchronous=1","encoding='UTF-16le'","encoding","!","encoding"],
    &["cache_size=100","encoding='UTF-16le'","encoding","!","encoding"],
    &["journal_mode=delete","encoding='UTF-16le'","encoding","!","encoding"],
    &["journal_mode=truncate","page_size=8192","!","page_size"],
    &["max_page_count=1000","page_size=8192","!","page_size"],
    &["max_page_count=1000","encoding='UTF-16le'","!","encoding"],
    &["locking_mode=exclusive","page_size=8192","!","page_size"],
    &["encoding='UTF-16le'","page_size=8192","!","page_size","encoding"],
    &["encoding='UTF-16le'","encoding","page_size=8192","!","page_size","encoding"],
    &["encoding='UTF-16le'","journal_mode=wal","!","encoding"],
    &["encoding='UTF-16le'","synchronous=1","!","encoding"],
    &["encoding='UTF-16le'","auto_vacuum=full","!","encoding","auto_vacuum"],
    &["journal_mode=wal","page_size","encoding","page_size=8192","page_size"],
    &["synchronous=full","journal_mode=wal","!","synchronous"],
    &["synchronous=normal","journal_mode=wal","!","synchronous"],
    &["synchronous=extra","page_size=8192","!","synchronous"],
    &["cache_size=-64000","page_size=8192","!","cache_size"],
    &["mmap_size=1000000","page_size=8192","!","mmap_size"],
    &["mmap_size=1000000","journal_mode=wal","!","mmap_size"],
    &["journal_size_limit=1000000","journal_mode=wal","!","journal_size_limit"],
    &["wal_autocheckpoint=77","journal_mode=wal","!","wal_autocheckpoint"],
    &["locking_mode=exclusive","journal_mode=wal","!","locking_mode","locking_mode=normal","locking_mode"],
    &["journal_mode=wal","locking_mode=exclusive","!","locking_mode","locking_mode=normal","!!","locking_mode"],
    &["query_only=on","journal_mode=wal","!","journal_mode"],
    &["query_only=on","auto_vacuum=full","auto_vacuum"],
    &["query_only=on","user_version=4","user_version"],
    &["query_only=on","page_size=8192","page_size"],
    &["query_only=on","incremental_vacuum","page_size"],
    &["query_only=on","optimize","page_size"],
    &["query_only=on","wal_checkpoint","page_size"],
    &["cache_size=10","cache_spill=5000","cache_spill"],
    &["cache_spill=5000","cache_size=10","cache_spill"],
    &["cache_size=10000","cache_spill=50","cache_spill"],
    &["cache_spill=50","cache_size=10000","cache_spill"],
    &["cache_spill=off","cache_size=10000","cache_spill"],
    &["cache_spill=-1", "cache_size=0","cache_spill"],
    &["cache_spill=5000","page_size=8192","!","cache_spill"],
    &["max_page_count=1000","page_size=8192","!","max_page_count"],
    &["max_page_count=1000","journal_mode=wal","!","max_page_count"],
    &["defer_foreign_keys=on","defer_foreign_keys","!","defer_foreign_keys"],
    &["secure_delete=fast","page_size=8192","!","secure_delete"],
    &["foreign_keys=on","journal_mode=wal","!","foreign_keys"],
    &["journal_mode=''","journal_mode='w'","journal_mode='o'", "journal_mode=''"],
    &["journal_mode=memory","journal_mode=wal","!","journal_mode"],
    &["locking_mode=exclusive","journal_mode=wal","journal_mode=delete","journal_mode"],
    &["journal_mode=wal","user_version=3","user_version"],
    &["journal_mode=wal","temp_store=2","wal_checkpoint=truncate","temp_store"],
    &["temp_store=2","page_size=8192","!","temp_store"],
    &["auto_vacuum=full","auto_vacuum=incremental","auto_vacuum","!","auto_vacuum","auto_vacuum=full","auto_vacuum","auto_vacuum=none","auto_vacuum"],
    &["auto_vacuum=incremental","journal_mode=wal","auto_vacuum=full","!","auto_vacuum"],
    &["locking_mode=exclusive","synchronous=1","locking_mode"],
    &["mmap_size=-1","mmap_size","mmap_size=9999999999","mmap_size"],
    &["default_cache_size=500","page_size=8192","!","page_size"],
    &["incremental_vacuum","page_size=8192","!","page_size"],
    &["optimize","page_size=8192","!","page_size"],
    &["optimize","encoding='UTF-16le'","!","encoding"],
    &["wal_checkpoint","page_size=8192","!","page_size"],
    &["integrity_check","page_size=8192","!","page_size"],
    &["locking_mode=exclusive","max_page_count","page_size=8192","!","page_size"],
    ];
    for r in runs{
        let d=tempfile::tempdir().unwrap();
        let c=Connection::open(d.path().join("a.db")).unwrap();
        let mut out=vec![];
        for p in *r{
            if *p=="!"{out.push(format!("[{:?}]",c.execute_batch("create table t(x); insert into t values(1)").err()));continue}
            if *p=="!!"{out.push(format!("[{:?}]",c.execute_batch("insert into t values(1)").err()));continue}
            out.push(format!("{p}→{}",get(&c,p)));
        }
        println!("{}",out.join("  "));
    }
    let c=Connection::open_in_memory().unwrap();
    for p in ["mmap_size=100","mmap_size","journal_mode=wal","locking_mode=exclusive","locking_mode"]{println!("mem {p} {}",get(&c,p));}
}
