import { Problem } from '@gatehouse/kit'
import type { FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { DeadLetterContext } from './dead-letters.ts'
import type { ReplayParams } from './schemas/dead-letters.ts'

type ReplayRequest = FastifyRequest<{ Params: Static<typeof ReplayParams> }>

/** GET /v1/replays/{batch_id}: what became of the letters that were replayed together. */
export function getReplay({ store, slots }: DeadLetterContext) {
  return async (request: ReplayRequest) => {
    const { batch_id: id } = request.params
    const found = await slots.run(() => store.findReplay(id))
    if (!found) throw notFound(id)
    const { createdAt, stoppedAt, first, ...counts } = found
    return {
      batch_id: id,
      created_at: new Date(createdAt).toISOString(),
      ...counts,
      ...(stoppedAt === undefined ? {} : { stopped_at: new Date(stoppedAt).toISOString() }),
      first: first.map(({ notificationId, ...letter }) => ({
        ...letter,
        ...(notificationId === undefined ? {} : { notification_id: notificationId }),
      })),
    }
  }
}

/** POST /v1/replays/{batch_id}/stop: what was not sent yet is a dead letter again. */
export function stopReplay({ audit, store, clock }: DeadLetterContext) {
  return async (request: ReplayRequest) => {
    const { batch_id: id } = request.params
    await audit(request, { action: 'replays.stop', target: { type: 'replay', id } })
    const stopped = await store.stopReplay(id, clock.now())
    if (stopped === undefined) throw notFound(id)
    return { stopped }
  }
}

function notFound(id: string): Problem {
  return new Problem(404, `There is no replay ${id}; it may be too long ago.`)
}
