import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { idPattern } from '../../src/model/id.ts'
import { setup } from '../support/setup.ts'

const methods = ['GET', 'DELETE', 'POST'] as const

/** Every route that is addressed by an id of ours, the items of a feed among them. */
const places: ReadonlyArray<readonly [(typeof methods)[number], (id: string) => string, ((id: string) => object)?]> = [
  ['GET', (id) => `/v1/notifications/${id}`],
  ['GET', (id) => `/v1/dead-letters/${id}`],
  ['DELETE', (id) => `/v1/dead-letters/${id}`],
  ['POST', (id) => `/v1/dead-letters/${id}/replay`],
  ['GET', (id) => `/v1/scheduled/${id}`],
  ['DELETE', (id) => `/v1/scheduled/${id}`],
  ['DELETE', (id) => `/v1/suppressions/${id}`],
  ['DELETE', (id) => `/v1/users/alice/suppressions/${id}`],
]
/** Those that take ids and change whatever of them is there. */
const lists: typeof places = [
  ['GET', (id) => `/v1/dead-letters?cursor=${id}`],
  ['GET', (id) => `/v1/suppressions?cursor=${id}`],
  ['GET', (id) => `/v1/users/alice/inbox?cursor=${id}`],
  ['POST', () => '/v1/dead-letters/replay', (id) => ({ ids: [id] })],
  ['POST', () => '/v1/dead-letters/discard', (id) => ({ ids: [id] })],
  ['POST', () => '/v1/users/alice/inbox/read', (id) => ({ ids: [id] })],
]

const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${length}}$`))
const anyId = fc
  .tuple(
    hex(8),
    hex(4),
    hex(3),
    fc.constantFrom('8', '9', 'a', 'b'),
    hex(3),
    hex(8),
    fc.oneof(hex(4), fc.constant('8000')),
  )
  .map(([a, b, c, variant, d, e, bucket]) => `${a}-${b}-7${c}-${variant}${d}-${e}${bucket}`)

for (const buckets of [1, 8])
  test(`an unknown id is 404 on every route, whatever its bucket, with ${buckets} buckets`, async (t) => {
    const s = await setup({ work: false, tables: { buckets } })
    t.after(s.close)
    const statusOf = async (id: string, [method, path, body]: (typeof places)[number]) =>
      (await s.call(method, path(id), body?.(id))).status
    await fc.assert(
      fc.asyncProperty(anyId, async (id) => {
        assert.match(id, new RegExp(idPattern))
        for (const place of places) assert.equal(await statusOf(id, place), 404, `${place[0]} ${place[1](id)}`)
        for (const place of lists) assert.equal(await statusOf(id, place), 200, `${place[0]} ${place[1](id)}`)
      }),
      { numRuns: 20, examples: ['8000', 'ffff'].map((end): [string] => [`01890000-0000-7000-8000-00000000${end}`]) },
    )
  })
