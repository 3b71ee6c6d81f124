/**
 * Generates the types and the table of operations of @gatehouse/client from the API document of the program itself:
 * `npm run client`. The test of the document compares what is committed.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Document } from './document.ts'
import { generatedFiles } from './generated-files.ts'

const document = await readDocument()
for (const { path, text } of generatedFiles(document)) writeFileSync(path, text)

/** Starts the program with empty data, and reads its document. */
async function readDocument(): Promise<Document> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-client-'))
  const port = await freePort()
  const main = join(import.meta.dirname, '../../apps/gatehouse/src/main.ts')
  const { PATH, HOME } = process.env
  const env = { PATH, HOME, PORT: String(port), DATA_DIR: dataDir, LOG_LEVEL: 'warn' }
  const program = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise<never>((_, reject) =>
    program.once('exit', (code) => reject(new Error(`the program ended with ${code} before it was ready`))),
  )
  ended.catch(() => {})
  try {
    const ready = new Promise<void>((resolve) => {
      program.stdout.setEncoding('utf8').on('data', (text: string) => text.includes('is ready after') && resolve())
    })
    await Promise.race([ready, ended])
    return (await (await fetch(`http://127.0.0.1:${port}/openapi.json`)).json()) as Document
  } finally {
    const exited = new Promise((resolve) => program.once('exit', resolve))
    if (program.exitCode === null && program.kill()) await exited
    rmSync(dataDir, { recursive: true, force: true })
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  return typeof address === 'object' && address ? address.port : 0
}
