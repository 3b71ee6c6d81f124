import type { Database, Transaction } from '@gatehouse/kit'
import type { Channel } from '../../model/channel.ts'
import type { Authorship, NewText, TemplateKey, Templates, TextState } from '../../store/store.ts'
import type { TemplateText } from '../../templates/template.ts'
import { everywhere } from '../nodes/spread-database.ts'
import { timestamp, withoutNulls } from '../sql/columns.ts'
import { turnVersion } from './event-types.ts'

interface KeyRow {
  readonly template_id: string
  readonly channel: Channel
  readonly locale: string
  readonly version: number
}

interface AuthorRow {
  readonly created_at: number
  readonly created_by: string | null
  readonly comment: string | null
}

interface TextRow extends KeyRow, AuthorRow {
  readonly subject: string | null
  readonly body: string
  readonly html: string | null
  readonly published: boolean
}

interface SummaryRow extends KeyRow, AuthorRow {
  readonly latest: number
  readonly published: number | null
}

/** For each text its published version, or else the highest, without the words. */
const summariesSql = `
SELECT t.template_id, t.channel, t.locale, t.version, l.latest, p.version AS published,
       t.created_at, t.created_by, t.comment
  FROM (SELECT template_id, channel, locale, max(version) AS latest
          FROM notify.template GROUP BY template_id, channel, locale) l
  LEFT JOIN notify.published_template p USING (template_id, channel, locale)
  JOIN notify.template t USING (template_id, channel, locale)
 WHERE t.version = coalesce(p.version, l.latest)`

/** Templates on PostgreSQL. */
export function postgresTemplates(database: Database): Templates {
  return {
    async listPublished() {
      const { rows } = await database.query<TextRow>(
        `SELECT t.template_id, t.channel, t.locale, t.version, t.subject, t.body, t.html,
                t.created_at, t.created_by, t.comment
           FROM notify.published_template p JOIN notify.template t USING (template_id, channel, locale, version)
          ORDER BY t.template_id, t.channel, t.locale`,
      )
      return rows.map((row) => ({ ...textOf(row), ...authorshipOf(row) }))
    },
    async listSummaries() {
      const { rows } = await database.query<SummaryRow>(summariesSql)
      return rows.map((row) => {
        const { template_id: templateId, channel, locale, version, latest, published } = row
        return { templateId, channel, locale, version, latest, published: published ?? undefined, ...authorshipOf(row) }
      })
    },
    async listVersions(templateId) {
      const { rows } = await database.query<TextRow>(
        `SELECT t.*, p.version IS NOT NULL AS published
           FROM notify.template t LEFT JOIN notify.published_template p USING (template_id, channel, locale, version)
          WHERE t.template_id = $1 ORDER BY t.channel, t.locale, t.version DESC`,
        [templateId],
      )
      return rows.map((row) => ({ ...textOf(row), ...authorshipOf(row), published: row.published }))
    },
    save: (text, publish, now, expected) =>
      (publish ? everywhere(database) : database).transaction(async (tx) => {
        await lockTexts(tx)
        return (await isExpected(tx, text, expected)) ? saveTemplate(tx, text, publish, now) : undefined
      }),
    publish: (key, version, now, expected) =>
      everywhere(database).transaction(async (tx) => {
        await lockTexts(tx)
        return (await isExpected(tx, key, expected)) && publishStored(tx, key, version, now)
      }),
    withdraw: (key) =>
      everywhere(database).transaction(async (tx) => {
        await lockTexts(tx)
        const { rowCount } = await tx.query(
          'DELETE FROM notify.published_template WHERE template_id = $1 AND channel = $2 AND locale = $3',
          partsOf(key),
        )
        await turnVersion(tx)
        return rowCount > 0
      }),
  }
}

function partsOf({ templateId, channel, locale }: TemplateKey): string[] {
  return [templateId, channel, locale]
}

function textOf({ template_id: templateId, channel, locale, version, subject, body, html }: TextRow): TemplateText {
  return { templateId, channel, locale, version, body, ...withoutNulls({ subject, html }) }
}

function authorshipOf({ created_at: createdAt, created_by: createdBy, comment }: AuthorRow): Authorship {
  return { createdAt, ...withoutNulls({ createdBy, comment }) }
}

/** Texts change one after the other. */
async function lockTexts(tx: Transaction): Promise<void> {
  await tx.query('LOCK TABLE notify.template IN SHARE ROW EXCLUSIVE MODE')
}

async function isExpected(tx: Transaction, key: TemplateKey, expected: TextState | undefined): Promise<boolean> {
  if (expected === undefined) return true
  const { rows } = await tx.query<{ latest: number | null; published: number | null }>(
    `SELECT (SELECT max(version) FROM notify.template WHERE template_id = $1 AND channel = $2 AND locale = $3) AS latest,
            (SELECT version FROM notify.published_template
              WHERE template_id = $1 AND channel = $2 AND locale = $3) AS published`,
    partsOf(key),
  )
  return rows[0]?.latest === expected.latest && (rows[0].published ?? undefined) === expected.published
}

/** Stores the next version of a text; two at once get two numbers. */
export async function saveTemplate(tx: Transaction, text: NewText, publish: boolean, now: number): Promise<number> {
  await lockTexts(tx)
  const { rows } = await tx.query<{ version: number }>(
    `INSERT INTO notify.template
            (template_id, channel, locale, version, subject, body, html, created_at, created_by, comment)
     SELECT $1, $2, $3, coalesce(max(t.version), 0) + 1, $4, $5, $6, $7, $8, $9
       FROM notify.template t WHERE t.template_id = $1 AND t.channel = $2 AND t.locale = $3
     RETURNING version`,
    [
      ...partsOf(text),
      text.subject ?? null,
      text.body,
      text.html ?? null,
      timestamp(now),
      text.createdBy ?? null,
      text.comment ?? null,
    ],
  )
  const version = rows[0]?.version ?? 1
  if (publish) await publishVersion(tx, text, version, now)
  return version
}

async function publishStored(tx: Transaction, key: TemplateKey, version: number, now: number): Promise<boolean> {
  const { rowCount } = await tx.query(
    'SELECT FROM notify.template WHERE template_id = $1 AND channel = $2 AND locale = $3 AND version = $4',
    [...partsOf(key), version],
  )
  if (rowCount === 0) return false
  await publishVersion(tx, key, version, now)
  return true
}

async function publishVersion(tx: Transaction, key: TemplateKey, version: number, now: number): Promise<void> {
  await tx.query(
    `INSERT INTO notify.published_template (template_id, channel, locale, version, published_at) VALUES ($1, $2, $3, $4, $5)
     ON CONFLICT (template_id, channel, locale) DO UPDATE SET version = excluded.version, published_at = excluded.published_at`,
    [...partsOf(key), version, timestamp(now)],
  )
  await turnVersion(tx)
}
