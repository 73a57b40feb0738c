import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { optionsOf } from '../run-options.ts';
import { FETCHED, fetchedKafka, KAFKA, POM } from './fetched-kafka.ts';

/** A registry that does not answer must not hold up whoever waits for this. */
const FETCH_MS = 300_000;

optionsOf('npm run kafka', () => parseArgs({ options: {} }));
if (fetchedKafka() === null && !fetchKafka()) {
  console.log('Apache Kafka was not fetched: the tests use the mock broker of kcat, where it is installed');
  process.exitCode = 1;
}

function fetchKafka(): boolean {
  rmSync(KAFKA, { recursive: true, force: true });
  mkdirSync(KAFKA, { recursive: true });
  const goal = ['dependency:copy-dependencies', `-DoutputDirectory=${join(KAFKA, 'lib')}`];
  const args = ['--quiet', '--batch-mode', '--file', POM, ...goal];
  console.log(`mvn ${args.join(' ')}`);
  const { status, error } = spawnSync('mvn', args, { stdio: 'inherit', timeout: FETCH_MS });
  if (status !== 0) {
    console.log(error?.message ?? `mvn ended with ${status}`);
    return false;
  }
  writeFileSync(FETCHED, readFileSync(POM));
  return true;
}
