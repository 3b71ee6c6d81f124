import { Stack, Title } from '@mantine/core'
import { useRead } from '../../../api/queries.ts'
import { Page } from '../../../parts/page.tsx'
import { Answer, Empty } from '../../../parts/states.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { CopyYaml } from './copy-yaml.tsx'
import { RouteMatchForm } from './route-match.tsx'
import { RouteRules } from './route-rules.tsx'
import { Upstreams } from './upstreams.tsx'

/** The rules of routes in their order, which of them matches, and the upstreams. */
export function RoutesScreen() {
  const t = useTexts()
  const query = useRead('listRoutes')
  const declared = (query.data?.items ?? []).filter(({ origin }) => origin === 'file')
  return (
    <Page
      title={t.sections.routes}
      lead={t.routes.lead}
      actions={declared.length > 0 ? <CopyYaml routes={declared} /> : undefined}
    >
      <RouteMatchForm />
      <Answer action="listRoutes" query={query}>
        {({ items }) => {
          const own = items.filter(({ origin }) => origin === 'own')
          return (
            <Stack gap="lg">
              <section aria-labelledby="rules">
                <Title order={2} id="rules" mb="xs">
                  {t.routes.rules}
                </Title>
                {declared.length === 0 ? (
                  <Empty text={t.routes.none} />
                ) : (
                  <RouteRules label={t.routes.rules} rules={declared} />
                )}
                <details className="more">
                  <summary>{t.routes.own(own.length)}</summary>
                  <RouteRules label={t.routes.ownRules} rules={own} />
                </details>
              </section>
              <section aria-labelledby="upstreams">
                <Title order={2} id="upstreams" mb="xs">
                  {t.routes.upstreams}
                </Title>
                <Upstreams />
              </section>
            </Stack>
          )
        }}
      </Answer>
    </Page>
  )
}
