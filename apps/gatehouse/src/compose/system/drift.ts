import { identityDeclared } from '@gatehouse/identity/postgres'
import { type Database, findDrift } from '@gatehouse/kit'
import { notifyDeclared } from '@gatehouse/notify/postgres'
import type { Settings } from '../../config/config.ts'

/** Something that differs from the file, as the API returns it. */
interface FormattedDrift {
  readonly service: string
  readonly kind: string
  readonly id: string
  readonly applied_at: string
  readonly changed_at?: string
}

/** What administrators changed since the file was applied, of the services of this process. */
export async function readDrift(
  database: Database,
  { services }: Pick<Settings, 'services'>,
): Promise<FormattedDrift[]> {
  const found = await findDrift(database, [
    ...(services.has('identity') ? identityDeclared : []),
    ...(services.has('notify') ? notifyDeclared : []),
  ])
  return found.map(({ schema, kind, id, appliedAt, changedAt }) => ({
    service: schema,
    kind,
    id: kind === 'template' ? (JSON.parse(id) as string[]).join('/') : id,
    applied_at: new Date(appliedAt).toISOString(),
    ...(changedAt === undefined ? {} : { changed_at: new Date(changedAt).toISOString() }),
  }))
}
