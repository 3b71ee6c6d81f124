import { type Http, Problem, parseStatRange, StatSeriesSchema, statRangeMembers, sumSeries } from '@gatehouse/kit'
import { Type } from 'typebox'
import { measures } from '../../model/measure.ts'
import { type AdminAccess, describeRoute } from '../required-scope.ts'
import { readScopes } from '../scopes.ts'

const StatsQuery = Type.Object(
  {
    measure: Type.Enum(Object.keys(measures) as (keyof typeof measures)[], {
      description: 'sign_ins: attempts to sign in; tokens: successful token responses; token_errors: rejected ones.',
    }),
    by: Type.Optional(
      Type.Enum(['method', 'outcome', 'grant_type', 'error'], {
        description: 'The one label that splits the sums; all of the measure without it.',
      }),
    ),
    ...statRangeMembers,
  },
  { additionalProperties: false },
)

/** What was counted of sign-ins and tokens, over time. */
export function statRoutes(http: Http, { context, requireScope }: AdminAccess): void {
  const schema = {
    ...describeRoute('signInStats.get', readScopes.accounts, StatSeriesSchema),
    querystring: StatsQuery,
  }
  http.get('/admin/v1/stats', { schema }, async (request) => {
    await requireScope(request, readScopes.accounts)
    const { measure, by, ...range } = request.query
    const labels: readonly string[] = measures[measure]
    if (by !== undefined && !labels.includes(by)) throw wrongLabel(labels, measure)
    const query = { measure, ...parseStatRange(range, context.clock.now()) }
    return sumSeries(await context.history.read(query), query, by === undefined ? labels : [by])
  })
}

function wrongLabel(labels: readonly string[], measure: string): Problem {
  const [pointer, detail] = ['/by', `must be ${labels.join(' or ')} for ${measure}`]
  return new Problem(400, `${pointer} ${detail}.`, { errors: [{ pointer, detail }] })
}
