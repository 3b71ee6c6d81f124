import type { Route } from '@gatehouse/client'
import { Button, CopyButton } from '@mantine/core'
import { Icon } from '../../../parts/icon.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { routesAsYaml } from './yaml.ts'

/** Copies routes as the configuration file has them. */
export function CopyYaml({ routes }: { routes: readonly Route[] }) {
  const t = useTexts()
  return (
    <CopyButton value={routesAsYaml(routes)}>
      {({ copied, copy }) => (
        <Button variant="default" onClick={copy} leftSection={<Icon name={copied ? 'check' : 'copy'} size={14} />}>
          {copied ? t.common.copied : t.routes.copy}
        </Button>
      )}
    </CopyButton>
  )
}
