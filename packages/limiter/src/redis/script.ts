import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { evalSha, evalText, type RedisClient } from './client.ts'

/** A Lua script, which the server knows by its SHA-1. */
export class Script {
  readonly #text: string
  readonly #sha1: string

  /** @param files names in the folder `scripts`, joined in this order */
  constructor(...files: readonly string[]) {
    this.#text = files.map((file) => readFileSync(new URL(`scripts/${file}`, import.meta.url), 'utf8')).join('\n')
    this.#sha1 = createHash('sha1').update(this.#text).digest('hex')
  }

  /**
   * Runs the script: by its hash, and by its text when the server has lost it, as it does when it restarts, fails over or
   * is flushed; `onScriptLoss` is called then. A script that did not run has changed nothing, so one repetition is safe.
   */
  async run(client: RedisClient, keys: string[], args: string[], onScriptLoss: () => void): Promise<unknown> {
    try {
      return await evalSha(client, this.#sha1, keys, args)
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
      onScriptLoss()
      return evalText(client, this.#text, keys, args)
    }
  }
}
