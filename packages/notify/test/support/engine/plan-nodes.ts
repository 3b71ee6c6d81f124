import assert from 'node:assert/strict'
import type { RunNode, RunStatement } from './explain-plans.ts'

/** Asserts that no table was read whole, and no node read more than `maxRowsRead` rows. */
export function assertFewRead(explained: readonly RunStatement[], maxRowsRead: number): void {
  for (const { 'Query Text': text, Plan } of explained)
    for (const node of bigNodesOf(Plan)) {
      const report = `${text}\n${JSON.stringify(Plan, null, 1)}`
      assert.notEqual(node['Node Type'], 'Seq Scan', report)
      assert.ok(readBy(node) <= maxRowsRead, `${readBy(node)} rows of ${node['Relation Name']} were read\n${report}`)
    }
}

/** Tables that hold a handful of rows, whatever the traffic. */
const small = new Set(['property', 'migration', 'event_type', 'template', 'state_change_position'])

/** Tables with rows of a user that grow with the number of users, what they are sent, or what of it waits. */
export const ofUsers: ReadonlySet<string | undefined> = new Set([
  ...['notification', 'delivery', 'timeline_entry', 'dedup_log', 'state_change'],
  ...['delivery_queue', 'deferred', 'scheduled', 'parked', 'pending_window', 'pending_item', 'dead_letter'],
  ...['recipient', 'preference', 'device', 'suppression', 'cap'],
])

/** A plan without what it reads of other tables. */
export function onlyOfUsers(plan: RunNode): RunNode {
  const { 'Relation Name': table, Plans = [], ...node } = plan
  return {
    ...node,
    ...(ofUsers.has(table) ? { 'Relation Name': table } : {}),
    Plans: Plans.map(onlyOfUsers),
  } as RunNode
}

/** The nodes that read a table which grows. */
export function bigNodesOf(plan: RunNode): RunNode[] {
  const table = plan['Relation Name']
  const own = table === undefined || small.has(table) ? [] : [plan]
  return [...own, ...(plan.Plans ?? []).flatMap(bigNodesOf)]
}

function readBy(node: RunNode): number {
  const each =
    (node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0)
  return each * (node['Actual Loops'] ?? 0)
}
