import { createRequire } from 'node:module';
import type { ErrorCode } from 'yaml';
import { ConfigurationError } from '../contracts/configuration.ts';
import { textOfFile } from './named-file.ts';

/** Its 70 modules are loaded where a file is read: a command that reads none takes a fifth less. */
const yaml = (): typeof import('yaml') => createRequire(import.meta.url)('yaml');

/**
 * What a file holds, YAML or JSON; null where that is nothing. A fault is told by its line and column: what stands there may be a
 * secret.
 *
 * @param textOf `textOfArgument` where a command line names it
 * @throws ConfigurationError also where a tag or a directive would have no effect
 */
export function readYaml(file: string, textOf = textOfFile): unknown {
  const { LineCounter, parseDocument } = yaml();
  const lines = new LineCounter();
  // Else what it warns of is written by itself, with its source.
  const settings = { lineCounter: lines, prettyErrors: false, logLevel: 'error' } as const;
  const document = parseDocument(textOrFault(file, textOf), settings);
  const [fault] = [...document.errors, ...document.warnings];
  if (fault !== undefined) {
    const { line, col } = lines.linePos(fault.pos[0]);
    throw new ConfigurationError(file, [`line ${line}, column ${col}: ${WORDS[fault.code] ?? fault.message}`]);
  }
  try {
    return document.toJS();
  } catch {
    throw new ConfigurationError(file, ['an alias (*name) has no anchor (&name) before it, or stands for too much']);
  }
}

function textOrFault(file: string, textOf: typeof textOfFile): string {
  try {
    return textOf(file);
  } catch (cause) {
    throw new ConfigurationError(file, [cause instanceof Error ? cause.message : String(cause)]);
  }
}

/** Instead of those of the parser that repeat what stands there. */
const WORDS: Partial<Record<ErrorCode, string>> = {
  BAD_DIRECTIVE: 'YAML has no such directive (%)',
  BAD_DQ_ESCAPE: 'there is no such escape sequence in double quotes',
  TAG_RESOLVE_FAILED: 'this tag (!) is not known, or not for such a value',
  UNEXPECTED_TOKEN: 'what stands here is not expected',
};
