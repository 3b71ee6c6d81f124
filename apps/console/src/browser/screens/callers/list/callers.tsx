import { Tabs } from '@mantine/core'
import { useFilters } from '../../../api/filters.ts'
import { Page } from '../../../parts/page.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { Rejections } from '../rejections.tsx'
import { StoreNotice } from '../store-notice.tsx'
import { CallerFilters } from './caller-filters.tsx'
import { FindCaller } from './find-caller.tsx'
import { TopCallers } from './top-callers.tsx'
import { Totals } from './totals.tsx'

const tabs = ['rejected', 'allowed', 'rejections', 'totals'] as const

/** Who is limited, and by what. */
export function CallersScreen() {
  const t = useTexts()
  const [filters, apply] = useFilters(['tab', 'window', 'policy', 'kind', 'route', 'by'])
  const tab = tabs.find((name) => name === filters.tab) ?? 'rejected'
  return (
    <Page title={t.sections.callers} lead={t.callers.lead}>
      <StoreNotice />
      <FindCaller />
      <Tabs value={tab} onChange={(next) => apply({ ...filters, tab: next ?? 'rejected' })} keepMounted={false}>
        <Tabs.List mb="md">
          {tabs.map((name) => (
            <Tabs.Tab key={name} value={name}>
              {t.callers.tabs[name]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <CallerFilters tab={tab} filters={filters} apply={apply} />
        {(['rejected', 'allowed'] as const).map((by) => (
          <Tabs.Panel key={by} value={by}>
            <TopCallers by={by} filters={filters} />
          </Tabs.Panel>
        ))}
        <Tabs.Panel value="rejections">
          <Rejections filters={{ policy: filters.policy, kind: filters.kind, route: filters.route }} />
        </Tabs.Panel>
        <Tabs.Panel value="totals">
          <Totals by={filters.by} window={filters.window} />
        </Tabs.Panel>
      </Tabs>
    </Page>
  )
}
