/**
 * Generates the types and the table of operations of @gatehouse/client from the API document of the program itself:
 * `npm run client`. The test of the document compares what is committed.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../apps/gatehouse/src/config/free-port.ts'
import { startInstance } from '../../apps/gatehouse/src/demo/instance.ts'
import type { Document } from './document.ts'
import { generatedFiles } from './generated-files.ts'

const document = await readDocument()
for (const { path, text } of generatedFiles(document)) writeFileSync(path, text)

/** Starts the program with empty data, and reads its document. */
async function readDocument(): Promise<Document> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-client-'))
  const { PATH, HOME } = process.env
  try {
    // The console reads what is generated here, and has no part in the document.
    const env = { PATH, HOME, DATA_DIR: dataDir, LOG_LEVEL: 'warn', SERVICES: 'identity,notify,gateway' }
    const instance = await startInstance({ port: await freePort(), env })
    const document = (await (await fetch(`${instance.url}/openapi.json`)).json()) as Document
    instance.process.kill()
    await instance.ended
    return document
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}
