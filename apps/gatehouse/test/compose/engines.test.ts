import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { StartError } from '@gatehouse/kit'
import { encryptionKey } from '../../src/compose/engines.ts'
import type { Settings } from '../../src/config/config.ts'

const engines = new URL('../../src/compose/engines.ts', import.meta.url).href

/** A data folder, and how to read its key here and in another process. */
function setup(context: TestContext) {
  const dataDir = mkdtempSync(join(tmpdir(), 'encryption-key-'))
  context.after(() => rmSync(dataDir, { recursive: true }))
  const read = () => encryptionKey({ dataDir } as Settings).currentId
  const script = `const { encryptionKey } = await import(${JSON.stringify(engines)})
    console.log(encryptionKey({ dataDir: ${JSON.stringify(dataDir)} }).currentId)`
  /** In a shell after these commands. Resolves with its exit code and what it wrote. */
  const readElsewhere = (commands = '') =>
    new Promise<{ code: unknown; out: string; errors: string }>((resolve) => {
      const line = `${commands} "$0" --input-type=module -e "$1"; exit $?`
      execFile('sh', ['-c', line, process.execPath, script], (error, out, errors) =>
        resolve({ code: error?.code ?? 0, out: out.trim(), errors }),
      )
    })
  return { dataDir, file: join(dataDir, 'encryption-key'), read, readElsewhere }
}

test('the key of the embedded engine is made once, for its owner alone', (context) => {
  const { dataDir, file, read } = setup(context)
  const id = read()
  assert.equal(read(), id)
  assert.deepEqual(readdirSync(dataDir), ['encryption-key'])
  assert.equal(statSync(file).mode & 0o777, 0o600)
  assert.match(readFileSync(file, 'utf8'), /^[\w-]{43}$/)
})

test('processes that start at once on a new folder read the same key', async (context) => {
  const { dataDir, read, readElsewhere } = setup(context)
  const ids = (await Promise.all(Array.from({ length: 4 }, () => readElsewhere()))).map(({ out }) => out)
  assert.deepEqual(ids, Array(4).fill(read()))
  assert.deepEqual(readdirSync(dataDir), ['encryption-key'])
})

test('a disk that takes nothing more leaves nothing behind, and the next start makes a key', async (context) => {
  const { dataDir, read, readElsewhere } = setup(context)
  // Files that may not grow: the first byte of the key fails, as on a full disk.
  const { code, errors } = await readElsewhere('ulimit -f 0;')
  assert.equal(code, 1)
  assert.match(errors, /EFBIG/)
  assert.deepEqual(readdirSync(dataDir), [])
  assert.match(read(), /./)
})

test('an empty file, as a damaged disk leaves it, is refused with what to do', (context) => {
  const { file, read } = setup(context)
  writeFileSync(file, '')
  assert.throws(read, (error: Error) => {
    assert.ok(error instanceof StartError)
    assert.match(error.message, /encryption-key is empty.*delete.*backup/)
    return true
  })
  assert.equal(readFileSync(file, 'utf8'), '')
})
