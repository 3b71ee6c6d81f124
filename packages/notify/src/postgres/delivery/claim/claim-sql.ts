import { queries } from '../../queries/index.ts'
import { joinsByIndex, keepsPlansOfQueue } from '../../sql/plans.ts'

const claimWith = (groups: string) => queries['delivery/claim'].replace('{groups}', () => groups)

/** The claim that reads all of the index. */
export const claimFromBeginningSql = claimWith(queries['delivery/claim-groups-from-beginning'])

/** The claim that goes on from the marks of the last one. */
export const claimFromMarksSql = claimWith(queries['delivery/claim-groups-from-marks'])

const entriesRead = "pg_stat_get_xact_tuples_returned('notify.delivery_queue_due'::regclass) AS entries_read"

/**
 * How long a claim may take that reads all of the index, in milliseconds. It may find millions of entries that are dead
 * and that an old snapshot keeps; a process that has just started has no marks to go on from, and would begin with such a
 * claim again and again, were it cut short.
 */
export const allOfIndexMs = 60_000

/**
 * Has the claim planned by its indexes, whatever a planner without statistics makes of the queue, and not compiled. Like the
 * two below it returns how many entries of the index this connection has read.
 */
export const beforeClaimSql = `SELECT ${keepsPlansOfQueue}, set_config('jit', 'off', true), ${joinsByIndex}, ${entriesRead}`

/** The same, before a claim that reads all of the index: it may take {@link allOfIndexMs}. */
export const beforeClaimOfAllSql = `${beforeClaimSql}, set_config('statement_timeout', '${allOfIndexMs}', true)`

/** How many entries of the index this connection has read. */
export const afterClaimSql = `SELECT ${entriesRead}`
