import { Problem } from '@gatehouse/kit'
import { Type } from 'typebox'
import { channels } from '../model/channel.ts'
import { deliveryStates } from '../model/delivery/delivery-state.ts'
import type { ChangeFilter, ChangePage, LoggedChange, StateChanges } from '../store/store.ts'

/** A state change as `GET /v1/events` shows it. It holds ids and states, and so nothing that would be masked. */
export const ChangeRecord = Type.Object({
  cursor: Type.String({ description: 'Read on behind this event with it as the `cursor`.' }),
  id: Type.String({ description: 'The same wherever this change is read, on NATS too.' }),
  delivery_id: Type.String(),
  notification_id: Type.String(),
  user_id: Type.String(),
  channel: Type.Enum([...channels]),
  event: Type.Optional(Type.String({ description: 'The event type; absent when its notification was removed.' })),
  state: Type.Enum([...deliveryStates]),
  at: Type.String({ format: 'date-time', description: 'When the state changed.' }),
})

/** Formats a state change for the API. */
export function changeRecord({ sequence, id, payload }: LoggedChange) {
  return { cursor: String(sequence), id, ...payload }
}

/** Where a reader begins: behind a cursor, or with the oldest change there is. */
export interface Beginning {
  readonly after: number | undefined
  readonly limit: number
  readonly filter: ChangeFilter
}

/** Reads a page. @throws Problem 410 when changes behind the cursor are gone, or it is of another log */
export async function readPage(stateChanges: StateChanges, { after, limit, filter }: Beginning): Promise<ChangePage> {
  const page = await stateChanges.read(after ?? 0, limit, filter)
  const { removed, last } = page
  if (after === undefined || (after >= removed && after <= last))
    return { ...page, through: Math.max(page.through, removed) }
  throw gone(after, page)
}

function gone(after: number, { removed, last }: ChangePage): Problem {
  const oldest = String(removed)
  const why =
    after < removed
      ? `Events behind the cursor ${after} are no longer kept`
      : `The cursor ${after} is ahead of the last event, ${last}: it is of another database, or of a later state of this one`
  return new Problem(410, `${why}. What is kept begins behind the cursor ${oldest}.`, { members: { oldest } })
}
