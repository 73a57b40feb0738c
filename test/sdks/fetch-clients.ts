import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { optionsOf } from '../run-options.ts';
import { CLIENTS, fetchedMark } from './fetched-clients.ts';

/** What brings a client of another ecosystem into a folder of its own: files first, then commands in that folder. */
interface Recipe {
  /** Also the name of its folder, and of the file in it that says it is whole. */
  readonly name: string;
  readonly version: string;
  readonly files: Readonly<Record<string, string>>;
  readonly commands: readonly (readonly [string, ...string[]])[];
}

const GO_MAIN = `package main

import (
	"fmt"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

func main() { fmt.Println(anthropic.NewClient(option.WithAPIKey("none")).Options != nil) }
`;

/** Loads a file as `docker compose` does, with profiles, and prints what it has made of it. */
const COMPOSE_MAIN = `package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	options, err := cli.NewProjectOptions(os.Args[1:2], cli.WithProfiles(os.Args[2:]))
	if err == nil {
		project, loading := options.LoadProject(context.Background())
		err = loading
		if err == nil {
			var text []byte
			text, err = project.MarshalJSON()
			fmt.Println(string(text))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
`;

const pom = (version: string): string => `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion><groupId>client</groupId><artifactId>client</artifactId><version>1</version>
  <dependencies>
    <dependency><groupId>com.anthropic</groupId><artifactId>anthropic-java</artifactId><version>${version}</version></dependency>
  </dependencies>
</project>
`;

/** By what their test gives; Go comes last because it is compiled, which takes minutes. */
const RECIPES: readonly Recipe[] = [
  {
    name: 'agent',
    version: '2.1.330',
    files: { 'package.json': '{ "private": true }' },
    // Its binary is a package of its own; no script of it needs to run.
    commands: [
      [
        'npm',
        'install',
        '--prefix',
        '.',
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
        '@anthropic-ai/claude-code@2.1.330',
      ],
    ],
  },
  {
    name: 'python',
    version: '2.12.0',
    files: {},
    commands: [
      ['python3', '-m', 'venv', 'venv'],
      ['venv/bin/pip', 'install', '--quiet', '--disable-pip-version-check', 'anthropic==2.12.0'],
    ],
  },
  {
    name: 'java',
    version: '3.12.0',
    files: { 'pom.xml': pom('3.12.0') },
    commands: [['mvn', '--quiet', '--batch-mode', 'dependency:copy-dependencies', '-DoutputDirectory=lib']],
  },
  {
    // No client: what docker compose itself reads a file with.
    name: 'compose',
    version: '2.16.2',
    files: { 'go.mod': 'module loader\n\ngo 1.24\n', 'main.go': COMPOSE_MAIN },
    commands: [
      ['go', 'get', 'github.com/compose-spec/compose-go/v2@v2.16.2'],
      ['go', 'mod', 'tidy'],
      ['go', 'build', '-o', 'load', '.'],
    ],
  },
  {
    name: 'go',
    version: '1.84.0',
    files: { 'go.mod': 'module client\n\ngo 1.24\n', 'main.go': GO_MAIN },
    commands: [
      ['go', 'get', 'github.com/anthropics/anthropic-sdk-go@v1.84.0'],
      // Leaves the compiled SDK in Go's cache: a test then compiles its few lines only.
      ['go', 'build', '-o', 'warm', '.'],
    ],
  },
];

/** A registry that does not answer must not hold up whoever waits for this. */
const COMMAND_MS = 300_000;

optionsOf('npm run clients', () => parseArgs({ options: {} }));
const missing = RECIPES.filter((recipe) => !fetchOne(recipe)).map(({ name }) => name);
if (missing.length > 0) {
  console.log(`not fetched: ${missing.join(', ')}; the tests that need them are skipped`);
  process.exitCode = 1;
}

function fetchOne({ name, version, files, commands }: Recipe): boolean {
  const folder = join(CLIENTS, name);
  const mark = fetchedMark(name);
  if (existsSync(mark)) return true;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [file, content] of Object.entries(files)) writeFileSync(join(folder, file), content);
  for (const [command, ...rest] of commands) {
    console.log(`${name} ${version}: ${command} ${rest.join(' ')}`);
    const { status, error } = spawnSync(command, rest, { cwd: folder, stdio: 'inherit', timeout: COMMAND_MS });
    if (status !== 0) {
      console.log(`${name}: ${error?.message ?? `${command} ended with ${status}`}`);
      return false;
    }
  }
  writeFileSync(mark, `${version}\n`);
  return true;
}
