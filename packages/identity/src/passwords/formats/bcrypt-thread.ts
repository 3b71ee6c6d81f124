import { parentPort } from 'node:worker_threads'
import { compareSync } from 'bcryptjs'

/** A comparison that the main thread asks for. */
export interface BcryptJob {
  readonly id: number
  readonly password: string
  readonly hash: string
}

/** Its result. */
export interface BcryptResult {
  readonly id: number
  readonly matches: boolean
}

parentPort?.on('message', ({ id, password, hash }: BcryptJob) => {
  parentPort?.postMessage({ id, matches: compareSync(password, hash) } satisfies BcryptResult)
})
