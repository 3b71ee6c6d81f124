import type { Management } from '@gatehouse/identity'
import type { Typed } from './typed.ts'

interface Described {
  /** Arguments and options, as the usage shows them. */
  readonly usage: string
  readonly summary: string
}

/** Something that identity's management does. */
export interface ManagementCommand extends Described {
  run(management: Management, typed: Typed): Promise<unknown>
}

/** What is done to the stores of all services, whichever run. */
export interface Maintenance {
  /** Seals everything with the first encryption key, and reports. */
  reseal(): Promise<unknown>
  /** Has the links of messages signed with a new secret, and reports. Compromised: no earlier one is valid any more. */
  rotateLinks(compromised: boolean): Promise<unknown>
  /** Distributes the tables of users, moved into so many buckets where a number is given, and reports. */
  distribute(buckets: number | undefined): Promise<unknown>
}

/** A command on the stores of all services. */
export interface MaintenanceCommand extends Described {
  maintain(maintenance: Maintenance, typed: Typed): Promise<unknown>
}

/** Any command. */
export type Command = ManagementCommand | MaintenanceCommand

/** Commands by their two words. */
export type Commands = Readonly<Record<string, Command>>

/** Most entries that a list shows. */
export const maxListed = 1_000
