import type { Database } from '@gatehouse/kit'
import type { TemplateSample, TemplateSamples } from '../../store/store.ts'
import { timestamp } from '../sql/columns.ts'

/** Sample data of templates on PostgreSQL. A template without a row has none. */
export function postgresTemplateSamples(database: Database): TemplateSamples {
  return {
    async find(templateId) {
      const { rows } = await database.query<{ samples: readonly TemplateSample[] }>(
        'SELECT samples FROM notify.template_sample WHERE template_id = $1',
        [templateId],
      )
      return rows[0]?.samples ?? []
    },
    put: (templateId, samples, now, expected) =>
      database.transaction(async (tx) => {
        // Whoever comes second waits at the row, which is there from now on.
        await tx.query(
          `INSERT INTO notify.template_sample (template_id, samples, updated_at) VALUES ($1, '[]', $2)
           ON CONFLICT (template_id) DO NOTHING`,
          [templateId, timestamp(now)],
        )
        const { rowCount } = await tx.query(
          `UPDATE notify.template_sample SET samples = $2, updated_at = $3
            WHERE template_id = $1 AND ($4::jsonb IS NULL OR samples = $4::jsonb)`,
          [
            templateId,
            JSON.stringify(samples),
            timestamp(now),
            expected === undefined ? null : JSON.stringify(expected),
          ],
        )
        return rowCount === 1
      }),
  }
}
