import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '@gatehouse/testing'
import { openEmbedded, StartError } from '../../src/index.ts'

const kit = new URL('../../src/index.ts', import.meta.url).href

test('the data folder is locked by one process, released when it dies, and keeps its rows', async () => {
  const folder = temporaryFolder('embedded')
  const script = `const { openEmbedded } = await import('${kit}'); const db = await openEmbedded(process.argv[1]);
    await db.query('CREATE TABLE note (text text)'); await db.query("INSERT INTO note VALUES ('kept')"); process.kill(process.pid, 'SIGKILL')`
  const killed = spawnSync(process.execPath, ['--input-type=module', '-e', script, folder], { encoding: 'utf8' })
  assert.equal(killed.signal, 'SIGKILL', killed.stderr)
  const database = await openEmbedded(folder)
  assert.deepEqual((await database.query('SELECT text FROM note')).rows, [{ text: 'kept' }])
  await assert.rejects(
    openEmbedded(folder),
    (error) => error instanceof StartError && error.message.includes('in use by another process'),
  )
  await database.close()
  await (await openEmbedded(folder)).close()
})

test('a data folder that can not be written is named in one line', async () => {
  const file = join(temporaryFolder('embedded'), 'file')
  writeFileSync(file, '')
  await assert.rejects(
    openEmbedded(join(file, 'data')),
    (error) => error instanceof StartError && /DATA_DIR/.test(error.message),
  )
})
