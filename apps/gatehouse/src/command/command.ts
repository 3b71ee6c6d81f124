import type { Management } from '@gatehouse/identity'
import type { Typed } from './typed.ts'

export interface Command {
  /** Arguments and options, as the usage shows them. */
  readonly usage: string
  readonly summary: string
  run(management: Management, typed: Typed): Promise<unknown>
}

/** Commands by their two words. */
export type Commands = Readonly<Record<string, Command>>

/** Most entries that a list shows. */
export const mostListed = 1_000
