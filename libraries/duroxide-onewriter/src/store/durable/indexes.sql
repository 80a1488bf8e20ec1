-- Since version 2. Instances to read when the file is opened: those with an entry here, and those with messages.
CREATE INDEX running ON execution(instance) WHERE status = 'Running';
CREATE INDEX child ON instance(parent) WHERE parent IS NOT NULL;
