import type { RouteMatch } from '@gatehouse/client'
import { Button, Code, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useFilters } from '../../../api/filters.ts'
import { useRead } from '../../../api/queries.ts'
import { Answer } from '../../../parts/states.tsx'
import { Facts, State } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { cleanPath } from './clean-path.ts'
import { PoliciesOf, Requirements } from './route-rules.tsx'

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Which rule matches a request, and why the others do not. What is looked for is in the address. */
export function RouteMatchForm() {
  const t = useTexts()
  const [{ method = 'GET', path = '' }, apply] = useFilters(['method', 'path'])
  const query = useRead('matchRoute', { method, path }, path !== '')
  return (
    <section className="panel" aria-label={t.routes.which}>
      <form
        key={`${method} ${path}`}
        aria-label={t.routes.which}
        onSubmit={(event) => {
          event.preventDefault()
          const form = new FormData(event.currentTarget)
          apply({ method: String(form.get('method')), path: cleanPath(String(form.get('path'))) })
        }}
      >
        <Group align="flex-end" gap="xs">
          <NativeSelect name="method" label={t.routes.method} data={methods} defaultValue={method} />
          <TextInput
            name="path"
            label={t.routes.pathOfRequest}
            placeholder="/orders/7"
            defaultValue={path}
            className="grow"
            required
          />
          <Button type="submit">{t.routes.which}</Button>
        </Group>
      </form>
      {path !== '' && (
        <Answer action="matchRoute" query={query}>
          {(match) => <Match match={match} />}
        </Answer>
      )}
    </section>
  )
}

const tones = { own: 'good', upstream: 'good', method: 'careful', none: 'careful', refused: 'bad' } as const

function Match({ match }: { match: RouteMatch }) {
  const t = useTexts()
  const { outcome, rule, position, allow, compared, other_paths: others, route } = match
  const known = outcome as keyof typeof tones
  return (
    <Stack gap="sm" mt="md" aria-live="polite">
      <Group gap="xs">
        <State tone={tones[known]}>{t.routes.outcomes[known]}</State>
        <Text>{t.routes.explanations[known](rule?.upstream ?? '', allow.join(', '))}</Text>
      </Group>
      {rule !== undefined && (
        <Facts
          facts={[
            [t.routes.rule, <Code key="path">{rule.path}</Code>],
            [t.routes.position, position ?? t.routes.ofGatehouse],
            [t.routes.requires, <Requirements key="requires" rule={rule} />],
            [t.routes.limits, <PoliciesOf key="limits" rule={rule} />],
            [t.routes.label, <Code key="label">{route}</Code>],
          ]}
        />
      )}
      {compared.length > 0 && (
        <ol className="timeline" aria-label={t.routes.compared}>
          {compared.map((one) => (
            <li key={one.position} className={one.reason === 'matches' ? 'marked' : undefined}>
              {t.routes.nth(one.position)} <Code>{one.path}</Code> {one.methods?.join(', ')}{' '}
              <span className="dim">{t.routes.reasons[one.reason as keyof typeof t.routes.reasons] ?? one.reason}</span>
            </li>
          ))}
        </ol>
      )}
      {others > 0 && (
        <Text size="sm" c="dimmed">
          {t.routes.others(others)}
        </Text>
      )}
    </Stack>
  )
}
