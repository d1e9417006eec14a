pub struct Sqlite;
