import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { evalSha, evalText, type RedisClient } from './client.ts'

/** A Lua script and the SHA-1 by which the server knows it. */
export interface Script {
  readonly text: string
  readonly sha1: string
}

/** Reads a script from .lua files of the folder `scripts`, which are joined in the order given. */
export function loadScript(...files: readonly string[]): Script {
  const text = files.map((file) => readFileSync(new URL(`scripts/${file}`, import.meta.url), 'utf8')).join('\n')
  return { text, sha1: createHash('sha1').update(text).digest('hex') }
}

/**
 * Runs a script: by its hash, and by its text when the server has forgotten it, which happens when it restarts, fails
 * over or is flushed; `onForgotten` is told then. A script that did not run changed nothing, so one repeat is safe.
 */
export async function runScript(
  client: RedisClient,
  script: Script,
  keys: string[],
  args: string[],
  onForgotten: () => void,
): Promise<unknown> {
  try {
    return await evalSha(client, script.sha1, keys, args)
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
    onForgotten()
    return evalText(client, script.text, keys, args)
  }
}
