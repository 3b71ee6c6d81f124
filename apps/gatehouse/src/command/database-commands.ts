import { StartError } from '@gatehouse/kit'
import type { Commands } from './command.ts'

const maxBuckets = 32_767

/** What is done about the database as a whole. */
export const databaseCommands: Commands = {
  'database distribute': {
    usage: '[--buckets N]',
    summary:
      'distribute the notification tables over the workers of Citus, the first time and after each migration; ' +
      'with --buckets first move them into N buckets',
    maintain: (maintenance, { options }) => maintenance.distribute(bucketsOf(options.buckets)),
  },
}

function bucketsOf(typed: string | boolean | undefined): number | undefined {
  if (typed === undefined) return undefined
  const buckets = Number(typed)
  if (Number.isInteger(buckets) && buckets > 1 && buckets <= maxBuckets) return buckets
  throw new StartError(`--buckets must be a whole number from 2 to ${maxBuckets}, not ${typed}`)
}
