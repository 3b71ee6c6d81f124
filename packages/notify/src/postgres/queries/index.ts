import { readFileSync } from 'node:fs'

const names = [
  'agenda/acquire-leases',
  'agenda/survey-deliveries',
  'delivery/claim',
  'delivery/claim-groups-from-beginning',
  'delivery/claim-groups-from-marks',
  'inbox/put-items',
  'inbox/remove-items',
  'intake/change-resumed',
  'intake/update-users',
  'timeline/purge-state-changes',
  'timeline/read-state-changes',
  'users/read-profiles',
  'waiting/claim-deferred',
  'waiting/claim-scheduled',
  'waiting/close-windows',
  'waiting/read-first-items',
  'waiting/remove-windows',
  'waiting/summarize-windows',
] as const

/** The name of a query: its path in this folder, without the ending. */
export type QueryName = (typeof names)[number]

/** The statements of the `.sql` files of this folder, read when the program starts. */
export const queries: Readonly<Record<QueryName, string>> = Object.fromEntries(
  names.map((name) => [name, withoutHeader(readFileSync(new URL(`${name}.sql`, import.meta.url), 'utf8'))]),
) as Record<QueryName, string>

/** Without the comment at the head, which documents the parameters: it need not travel to the server. */
function withoutHeader(text: string): string {
  return text.slice(/^(?:--.*\n)*\n*/.exec(text)?.[0].length ?? 0).trimEnd()
}
