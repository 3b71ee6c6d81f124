import { join } from 'node:path'
import type { Document } from './document.ts'
import { operationsText } from './operation-table.ts'
import { typesText } from './operation-types.ts'

const folder = join(import.meta.dirname, '../../packages/client/src/operations')

/** The generated files of the client, with the text that they have for this document. */
export function generatedFiles(document: Document): ReadonlyArray<{ readonly path: string; readonly text: string }> {
  return [
    { path: join(folder, 'types.gen.ts'), text: typesText(document) },
    { path: join(folder, 'operations.gen.ts'), text: operationsText(document) },
  ]
}
