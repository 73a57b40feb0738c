import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A file of `.compose/`, which compose.yaml mounts. */
export const composePath = (name: string): string => fileURLToPath(new URL(`../../.compose/${name}`, import.meta.url));
export const composeFile = (name: string): string => readFileSync(composePath(name), 'utf8');
