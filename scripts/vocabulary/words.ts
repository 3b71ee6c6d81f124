/**
 * The words that the project does not use, and what stands in their place: the right-hand column of the glossary. A word
 * with a plain meaning of its own ("most" in a sentence, "race" of two requests, "unit" of a limit) is listed only for
 * the places where it can not have that meaning.
 */

/** One row of the glossary. All words are in lower case. */
export interface Row {
  /** What to write instead. */
  readonly use: string
  /** Words that are no part of an identifier, a file name or an SQL name; two words stand one after the other. */
  readonly names?: readonly string[]
  /** Words that do not stand in a text that a user reads. */
  readonly texts?: readonly string[]
  /** Words that are not the whole name of a table or column. */
  readonly sqlNames?: readonly string[]
}

export const rows: readonly Row[] = [
  { use: 'expired, inactive or revoked', names: ['is over', 'no good'], texts: ['no good'] },
  { use: 'request, options, result or response', names: ['asked', 'given', 'taken', 'told'] },
  { use: 'grant, client, subject, caller or request', names: ['asking', 'proceeding', 'visit'] },
  {
    use: 'expired, invalid, denied, required, duplicate, again or repaired',
    names: ['befall', 'befalls', 'dear', 'lest', 'anew', 'afresh', 'kin', 'mend', 'mended'],
    texts: ['befall', 'befalls', 'befallen', 'lest', 'anew', 'afresh', 'kin', 'mended'],
  },
  { use: 'max… or min…', names: ['most', 'least', 'longest', 'shortest'] },
  {
    use: 'acquire, lease, release, lock or dispose',
    names: ['held', 'unheld', 'let go', 'give back', 'gives back', 'gave back'],
    texts: ['letgo', 'giveback'],
  },
  {
    use: 'record, append, publish, report or format',
    names: ['tell', 'tells', 'telling', 'told', 'untold'],
    texts: ['tell', 'tells', 'told', 'untold'],
  },
  { use: 'event, notification, delivery, message, recipient or target', names: ['passage'] },
  {
    use: 'retry policy, attempt, backoff, dead letter or quarantine',
    names: ['judge', 'judged', 'judges', 'tries', 'burn', 'burns', 'burnt', 'trial', 'trials', 'poisonous'],
    texts: ['judge', 'judged', 'judges', 'burnt', 'poisonous'],
  },
  { use: 'provider pool or failover', names: ['carrier', 'carriers'], texts: ['carriers'] },
  { use: 'completer', names: ['recorder keep'] },
  { use: 'deferred, due or resume', names: ['woken', 'wake', 'wakes', 'deferral', 'deferrals'], texts: ['woken'] },
  { use: 'priority', names: ['lane', 'lanes'] },
  { use: 'a noun that says which: dedup_log, delivery_queue, entry_type', sqlNames: ['log', 'work', 'what'] },
  {
    use: 'reconcile, reconciler, dirty or local count',
    names: [
      'teller',
      'hear',
      'hears',
      'heard',
      'unheard',
      'soil',
      'soils',
      'soiled',
      'presume',
      'presumed',
      'presumes',
      'heal',
      'heals',
    ],
    texts: ['teller', 'soiled'],
  },
  {
    use: 'hot key, lease, replica or adjustment',
    names: ['portion', 'portions', 'heat', 'mirror', 'mirrors'],
    texts: ['portion', 'portions'],
  },
  {
    use: 'attempt limits, policy limits, required scope or failover limiter',
    names: ['guard', 'guards', 'guarded'],
  },
  { use: 'middleware or ingress', names: ['entrance', 'brake', 'gate', 'gates'] },
  { use: 'benchmark or baseline', names: ['contestant', 'contestants'], texts: ['contestant', 'contestants'] },
  {
    use: 'fixture or seed',
    names: ['furnish', 'furnished', 'furnishes'],
    texts: ['furnish', 'furnished', 'furnishes'],
  },
  {
    use: 'dependency rules, violation or library packages',
    names: ['wall', 'walls', 'breach', 'breaches', 'stone', 'stones'],
  },
]
