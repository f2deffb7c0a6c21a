//! `chronq tenant`: grants and plans of tenants.

use std::process::ExitCode;

use chronq::contract::Method;
use chronq::contract::paths;
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::CommandError;
use super::target::{self, Target, TargetArguments};
use crate::service::tenants;
use crate::store::timers::TenantQuota;

#[derive(Debug, Args)]
pub(super) struct TenantArguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Make or replace a tenant's quota: its grant and its plan
    Put {
        /// The tenant
        name: String,
        #[command(flatten)]
        plan: PlanArguments,
        #[command(flatten)]
        target: TargetArguments,
    },
    /// List tenants with their quotas
    List {
        #[command(flatten)]
        target: TargetArguments,
    },
    /// Delete a tenant's quota: it may schedule nothing from then on; its timers stay, and fire
    Delete {
        /// The tenant
        name: String,
        #[command(flatten)]
        target: TargetArguments,
    },
}

/// What is not given is not limited, beyond the server's own limits.
#[derive(Debug, Args)]
struct PlanArguments {
    /// Keep the plan and take the grant
    #[arg(long)]
    disabled: bool,
    /// Most pending timers
    #[arg(long)]
    max_timers: Option<u64>,
    /// Farthest instant a timer can be set to; narrows the server's, never widens it
    #[arg(long)]
    max_timer_horizon_seconds: Option<u64>,
    /// Largest payload; narrows the server's, never widens it
    #[arg(long)]
    max_payload_bytes: Option<u64>,
    /// Calls that schedule, per second
    #[arg(long)]
    max_schedules_per_second: Option<f64>,
    /// Calls that schedule, at once
    #[arg(long)]
    burst: Option<u32>,
}

impl PlanArguments {
    fn quota(self) -> TenantQuota {
        TenantQuota {
            enabled: !self.disabled,
            max_timers: self.max_timers,
            max_timer_horizon_seconds: self.max_timer_horizon_seconds,
            max_payload_bytes: self.max_payload_bytes,
            max_schedules_per_second: self.max_schedules_per_second,
            burst: self.burst,
        }
    }
}

pub(super) fn run(arguments: TenantArguments) -> Result<ExitCode, CommandError> {
    target::run(async {
        match arguments.action {
            Action::Put { name, plan, target } => {
                let quota = plan.quota();
                tenants::check(&name, &quota)?;
                put(target.open().await?, &name, quota).await
            }
            Action::List { target } => list(target.open().await?).await,
            Action::Delete { name, target } => {
                chronq::Name::parse("tenant", &name)?;
                delete(target.open().await?, &name).await
            }
        }
    })
}

async fn put(target: Target, name: &str, quota: TenantQuota) -> Result<Value, CommandError> {
    match target {
        Target::Server(server) => {
            let path = format!("{}/{name}", paths::ADMIN_TENANTS);
            server.call(Method::Put, &path, Some(serde_json::to_value(quota)?)).await
        }
        Target::Store(store) => {
            store.put_tenant(name, quota.clone()).await?;
            store.close().await;
            shown(name, &quota)
        }
    }
}

async fn list(target: Target) -> Result<Value, CommandError> {
    match target {
        Target::Server(server) => server.call(Method::Get, paths::ADMIN_TENANTS, None).await,
        Target::Store(store) => {
            let tenants = store.tenants().await?;
            tenants.iter().map(|(name, quota)| shown(name, quota)).collect()
        }
    }
}

async fn delete(target: Target, name: &str) -> Result<Value, CommandError> {
    match target {
        Target::Server(server) => {
            server.call(Method::Delete, &format!("{}/{name}", paths::ADMIN_TENANTS), None).await
        }
        Target::Store(store) => {
            let deleted = store.delete_tenant(name).await?;
            store.close().await;
            if !deleted {
                return Err(format!("no such tenant: \"{name}\"").into());
            }
            Ok(json!({ "name": name, "deleted": true }))
        }
    }
}

fn shown(name: &str, quota: &TenantQuota) -> Result<Value, CommandError> {
    let mut shown = serde_json::to_value(quota)?;
    if let Some(fields) = shown.as_object_mut() {
        fields.insert("name".to_owned(), name.into());
    }
    Ok(shown)
}
