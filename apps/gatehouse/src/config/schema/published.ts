import { FileSchema } from './file.ts'

/** The text of `gatehouse.schema.json`: what the program itself checks the file by. */
export function publishedSchema(): string {
  return `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', ...FileSchema }, null, 2)}\n`
}
