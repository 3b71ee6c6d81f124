import assert from 'node:assert/strict'
import { test } from 'node:test'
import { postgresIdentityStore } from '../../src/postgres/index.ts'
import { fileWith, limitRules } from '../support/limits.ts'
import { setup } from '../support/setup.ts'

/** What a process without a file would apply: its built-in limits. */
const missing = { ...fileWith(99), isDeclared: false, isMissing: true }

test('without a file, what an earlier one declared and what was edited since stay', async (t) => {
  const { identity, database, close } = await setup({ limitRules: limitRules() })
  t.after(close)
  const gold = { gold: { rpm: 500 } }
  const { document } = fileWith(10, gold)
  const edit = { document, origin: 'edit', comment: '', createdAt: 0 } as const
  assert.ok(await postgresIdentityStore(database).limitVersions.append(1, edit))
  const { limits } = identity
  const read = async () => (await limits.read(undefined))?.document?.tiers
  await limits.applyFile(missing)
  assert.deepEqual(await read(), { free: { rpm: 10 }, ...gold })
  await limits.applyFile(fileWith(15))
  assert.deepEqual(await read(), { free: { rpm: 15 }, ...gold }, 'the next file is compared with the last one')
})

test('without any file nothing is stored, and the first one is merged with what was edited', async (t) => {
  const { identity, database, close } = await setup({ limitRules: limitRules(missing) })
  t.after(close)
  const { limits } = identity
  assert.equal((await limits.read(undefined))?.document, undefined)
  const { document } = fileWith(99, { gold: { rpm: 500 } })
  const edit = { document, origin: 'edit', comment: '', createdAt: 0 } as const
  assert.ok(await postgresIdentityStore(database).limitVersions.append(0, edit))
  await limits.applyFile(fileWith(15))
  assert.deepEqual((await limits.read(undefined))?.document?.tiers, { free: { rpm: 15 }, gold: { rpm: 500 } })
})
